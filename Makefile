# Two commands for a newcomer: `make demo` and `make test`.
.PHONY: demo test build bench planted-bugs clean

demo:                   ## build, then show the main job on made data
	cargo run --release --quiet --bin lazyglm -- demo

test:                   ## everything the gate checks
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo test -p lazyglm --bench epoch --quiet
	cargo run -p lazyglm --example spam --quiet
	cargo test --workspace --quiet

build:                  ## target/release/lazyglm
	cargo build --release

bench:                  ## the paper's table, and one epoch of each update
	cargo run --release --quiet --bin lazyglm -- bench paper --rows 200000
	cargo bench -p lazyglm

planted-bugs:           ## break the code in many ways: a law must notice each (some 5 minutes)
	./tools/planted-bugs

clean:
	cargo clean
