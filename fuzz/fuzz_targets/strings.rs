#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lazyglm_fuzz::in_time(lazyglm_fuzz::strings, bytes));
