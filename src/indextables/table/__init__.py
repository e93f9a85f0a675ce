"""`Table`: a thin façade with one module per verb."""
