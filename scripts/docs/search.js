// A search shows an excerpt of each page that it finds, for which it fetches the page. From the file system a browser fetches
// nothing; there the list alone is shown.
// biome-ignore lint/correctness/noUndeclaredVariables: Sphinx's documentation_options.js has it
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
