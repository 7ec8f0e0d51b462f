# glmnet at work: reads a folder of arrays, then answers lines "FAMILY l1 l2 thresh" with "fitted" and "weights" with "written".
suppressMessages({library(glmnet); library(Matrix)})
folder <- commandArgs(trailingOnly = TRUE)[1]
from <- function(name, what, n, size) readBin(file.path(folder, name), what, n, size)
shape <- from("shape", "integer", 3, 4)
X <- new("dgCMatrix", x = from("values", "double", shape[3], 8), i = from("rows", "integer", shape[3], 4),
         p = from("starts", "integer", shape[2] + 1, 4), Dim = shape[1:2])
y <- from("targets", "double", shape[1], 8)
say <- function(word) { cat(word, "\n", sep = ""); flush(stdout()) }
say("ready")
asked <- file("stdin", "r")
while (length(line <- readLines(asked, n = 1)) > 0) {
  words <- strsplit(line, " ")[[1]]
  if (words[1] == "weights") {
    found <- coef(fit, s = tail(fit$lambda, 1))
    writeBin(as.numeric(found), file.path(folder, "weights"))
    say("written")
    next
  }
  l1 <- as.numeric(words[2]); l2 <- as.numeric(words[3])
  r <- if (words[1] == "gaussian") y - mean(y) else (y > 0) - mean(y > 0)
  most <- max(abs(crossprod(X, r))) / length(y)
  # λ falls by a factor of at most two a step, from where all weights are zero; both penalties fall together.
  steps <- max(2, ceiling(log2(most / l1)) + 1)
  path <- (l1 + l2) * exp(seq(log(most / l1), 0, length.out = steps))
  fit <- glmnet(X, if (words[1] == "gaussian") y else as.integer(y > 0), family = words[1], alpha = l1 / (l1 + l2),
                lambda = path, standardize = FALSE, thresh = as.numeric(words[4]), maxit = 1e6)
  say("fitted")
}
