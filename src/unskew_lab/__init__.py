"""The laboratory: papers reproduced, benchmarks and applications, on unskew's public API."""
