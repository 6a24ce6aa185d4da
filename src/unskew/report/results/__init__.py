"""The report page: reading result files, sections and markup."""
