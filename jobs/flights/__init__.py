"""The parts of the job nycflights: one subject a module, see docs/job.md."""
