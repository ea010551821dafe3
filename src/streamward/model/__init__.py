"""The shared words: ids, cameras, sites, runners, errors. Imports nothing of ours."""
