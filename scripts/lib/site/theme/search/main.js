// The search of the site, in the place of MkDocs' own, which starts a worker and fetches its index: browsers refuse both to a page
// that was opened from a folder. Scripts may be loaded there, so the index is one (hooks.py writes it).
"use strict";
(() => {
  const place = document.getElementById("mkdocs-search-results");
  const box = document.getElementById("mkdocs-search-query");
  if (!place || !box) return; // any page but search.html

  const AROUND = 120; // letters of the page before and behind what was found
  let index = null;

  function load(path, then) {
    const script = document.createElement("script");
    script.src = `${base_url}/${path}`;
    script.onload = then;
    document.head.append(script);
  }

  function build() {
    lunr.tokenizer.separator = new RegExp(searchIndex.config.separator);
    index = lunr(function () {
      this.ref("location");
      this.field("title", { boost: 10 });
      this.field("text");
      this.metadataWhitelist = ["position"];
      searchIndex.docs.forEach(doc => this.add(doc));
    });
  }

  // Whole words count most. Words are not parsed as lunr's query language: `--int8` would ask for pages without int8. Nor are
  // its wildcards used, which now and then find words that no page has, and fail then.
  function found(words) {
    const known = index.invertedIndex;
    const exact = [], longer = [];
    for (const word of lunr.tokenizer(words).map(String)) {
      exact.push(...index.pipeline.runString(word).filter(stem => stem in known));
      longer.push(...Object.keys(known).filter(term => term.startsWith(word)));
    }
    const plain = terms => terms.filter(term => !term.includes("*")); // it would stand for any letters
    if (!plain([...exact, ...longer]).length) return []; // lunr gives all pages to who asks nothing
    return index.query(query => {
      query.term(plain(exact), { boost: 10, usePipeline: false });
      query.term(plain(longer), { usePipeline: false });
    });
  }

  function excerpt(doc, hit) {
    const positions = Object.values(hit.matchData.metadata).flatMap(fields => fields.text ? fields.text.position : []);
    const at = positions.length ? Math.min(...positions.map(([start]) => start)) : 0;
    const from = Math.max(0, at - AROUND);
    return (from ? "… " : "") + doc.text.slice(from, at + AROUND) + (at + AROUND < doc.text.length ? " …" : "");
  }

  function entry(hit, docs) {
    const doc = docs.get(hit.ref);
    const page = docs.get(hit.ref.split("#")[0]);
    const article = document.createElement("article");
    const link = document.createElement("a");
    link.href = `${base_url}/${hit.ref}`;
    link.textContent = page && page.title !== doc.title ? `${page.title}: ${doc.title}` : doc.title;
    const heading = document.createElement("h3");
    heading.append(link);
    const text = document.createElement("p");
    text.textContent = excerpt(doc, hit);
    article.append(heading, text);
    return article;
  }

  function show() {
    const words = box.value.trim();
    if (words.length < searchIndex.config.min_search_length) {
      place.replaceChildren();
      return;
    }
    const docs = new Map(searchIndex.docs.map(doc => [doc.location, doc]));
    const hits = found(words);
    if (hits.length) place.replaceChildren(...hits.slice(0, 50).map(hit => entry(hit, docs)));
    else place.textContent = place.dataset.noResultsText;
  }

  box.value = new URLSearchParams(location.search).get("q") || "";
  place.replaceChildren();
  load("search/lunr.js", () => load("search/search_index.js", () => {
    build();
    box.addEventListener("input", show);
    show();
  }));
})();
