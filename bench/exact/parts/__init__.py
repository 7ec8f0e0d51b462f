"""Parts of the benchmark, one module each: `TITLE`, the sets as `SETS`, and `run(context, problem)`."""
