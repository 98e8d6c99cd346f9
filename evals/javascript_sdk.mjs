// Steps of a client in JavaScript against a search service: each prints "passed NAME", or "failed NAME: why".
import assert from "node:assert/strict";
import * as sdk from "@azure/search-documents";

const [endpoint, key] = process.argv.slice(2);
const { AzureKeyCredential, SearchClient, SearchIndexClient, IndexDocumentsBatch } = sdk;
const credential = new AzureKeyCredential(key);
const indexes = new SearchIndexClient(endpoint, credential);
const documents = new SearchClient(endpoint, "manuals", credential);
const DEFINITION = {
  name: "manuals",
  fields: [
    { name: "id", type: "Edm.String", key: true, filterable: true, sortable: true },
    { name: "title", type: "Edm.String", searchable: true, synonymMaps: ["parts"], synonymMapNames: ["parts"] },
    { name: "content", type: "Edm.String", searchable: true, analyzerName: "en.lucene" },
    { name: "page", type: "Edm.Int32", filterable: true, sortable: true, facetable: true },
    { name: "tags", type: "Collection(Edm.String)", searchable: true, filterable: true, facetable: true },
    {
      name: "vector", type: "Collection(Edm.Single)", searchable: true, vectorSearchDimensions: 2,
      vectorSearchProfileName: "near",
    },
  ],
  suggesters: [{ name: "titles", sourceFields: ["title"], searchMode: "analyzingInfixMatching" }],
  vectorSearch: {
    algorithms: [{ name: "hnsw", kind: "hnsw" }],
    profiles: [{ name: "near", algorithmConfigurationName: "hnsw" }],
  },
  semanticSearch: {
    defaultConfigurationName: "default",
    configurations: [
      { name: "default", prioritizedFields: { titleField: { name: "title" }, contentFields: [{ name: "content" }] } },
    ],
  },
};
const DOCUMENTS = [
  { id: "a", title: "Gearbox", content: "The gearbox shifts late.", page: 1, tags: ["x"], vector: [1, 0] },
  { id: "b", title: "Engine", content: "The engine misfires when cold.", page: 2, tags: ["x", "y"], vector: [0, 1] },
  { id: "c", title: "Brakes", content: "The pads wear out.", page: 3, tags: [], vector: [1, 1] },
];

async function found(text, options = {}) {
  const answer = await documents.search(text, options);
  const hits = [];
  for await (const hit of answer.results) hits.push(hit);
  return { answer, hits, ids: hits.map((hit) => hit.document.id) };
}

async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: "it was not refused" });
}

const STEPS = {
  "a synonym map is made and read": async () => {
    await indexes.createOrUpdateSynonymMap({ name: "parts", synonyms: ["gearbox, transmission"] });
    assert.deepEqual(await indexes.listSynonymMapsNames(), ["parts"]);
  },
  "an index is made, read, listed and counted": async () => {
    await indexes.createOrUpdateIndex(DEFINITION);
    assert.equal((await indexes.getIndex("manuals")).fields.length, 6);
    const names = [];
    for await (const each of indexes.listIndexesNames()) names.push(each);
    assert.deepEqual(names, ["manuals"]);
    assert.equal((await indexes.getIndexStatistics("manuals")).documentCount, 0);
  },
  "documents are uploaded, merged, counted and read": async () => {
    const uploaded = await documents.uploadDocuments(DOCUMENTS);
    assert.ok(uploaded.results.every((one) => one.succeeded));
    await documents.mergeOrUploadDocuments([{ id: "c", tags: ["z"] }]);
    assert.equal(await documents.getDocumentsCount(), 3);
    assert.deepEqual((await documents.getDocument("c")).tags, ["z"]);
  },
  "a batch says of each document what became of it": async () => {
    const batch = new IndexDocumentsBatch();
    batch.merge([{ id: "nobody", page: 1 }]);
    batch.merge([{ id: "a", page: 1 }]);
    const outcome = await documents.indexDocuments(batch);
    assert.deepEqual(outcome.results.map((one) => one.statusCode), [404, 200]);
  },
  "words, filter, order, selection and count": async () => {
    const { answer, ids, hits } = await found("*", {
      filter: "page ge 2", orderBy: ["page desc"], select: ["id", "page"], includeTotalCount: true, top: 1,
    });
    assert.deepEqual([ids, answer.count, hits[0].document.page], [["c"], 2, 3]);
    assert.ok(!("title" in hits[0].document));
  },
  "facets, highlights and synonyms": async () => {
    const { answer, hits } = await found("transmission", { facets: ["tags"], highlightFields: "content" });
    assert.deepEqual([hits[0].document.id, answer.facets.tags[0].value], ["a", "x"]);
    const marked = await found("gearbox", { highlightFields: "content" });
    assert.match(marked.hits[0].highlights.content[0], /<em>gearbox<\/em>/);
  },
  "Lucene's syntax": async () => {
    assert.deepEqual((await found("content:misfir* OR title:/brak.*/", { queryType: "full" })).ids.sort(), ["b", "c"]);
  },
  "a vector": async () => {
    const queries = [{ kind: "vector", vector: [0, 1], kNearestNeighborsCount: 1, fields: ["vector"] }];
    assert.deepEqual((await found(undefined, { vectorSearchOptions: { queries } })).ids, ["b"]);
  },
  "words and a vector, ranked semantically, with captions and answers": async () => {
    const queries = [{ kind: "vector", vector: [1, 0], kNearestNeighborsCount: 3, fields: ["vector"] }];
    const { answer, hits } = await found("gearbox shifts late", {
      queryType: "semantic",
      semanticSearchOptions: {
        configurationName: "default", captions: { captionType: "extractive" }, answers: { answerType: "extractive" },
      },
      vectorSearchOptions: { queries },
    });
    assert.equal(hits[0].document.id, "a");
    assert.ok(hits[0].rerankerScore > 2);
    assert.match(hits[0].captions[0].text, /gearbox/);
    assert.equal(answer.answers[0].key, "a");
  },
  "suggestions and completions": async () => {
    assert.equal((await documents.suggest("gea", "titles")).results[0].text, "Gearbox");
    assert.equal((await documents.autocomplete("eng", "titles")).results[0].text, "engine");
  },
  "many results come page by page": async () => {
    await documents.uploadDocuments(Array.from({ length: 120 }, (_, n) => ({ id: `n${n}`, title: "Note", page: 9 })));
    assert.equal((await found("note")).ids.length, 120);
    await documents.deleteDocuments("id", Array.from({ length: 120 }, (_, n) => `n${n}`));
  },
  "what is not there, and who may not, is an error with its status": async () => {
    await refused(documents.getDocument("nobody")); // a TypeError of this SDK, as the service sends no body here
    assert.equal((await refused(indexes.getIndex("nobody"))).statusCode, 404);
    const stranger = new SearchClient(endpoint, "manuals", new AzureKeyCredential("wrong"));
    assert.equal((await refused(stranger.getDocumentsCount())).statusCode, 403);
    assert.equal((await refused(found("x", { filter: "nothing eq 1" }))).statusCode, 400);
  },
  "a knowledge base answers with references": async () => {
    const source = { name: "ks", kind: "searchIndex", searchIndexParameters: { searchIndexName: "manuals" } };
    await indexes.createOrUpdateKnowledgeSource(source);
    await indexes.createOrUpdateKnowledgeBase("kb", { name: "kb", knowledgeSources: [{ name: "ks" }] });
    const base = new sdk.KnowledgeRetrievalClient(endpoint, "kb", credential);
    const answer = await base.retrieve({ intents: [{ type: "semantic", search: "gearbox" }] });
    assert.equal(answer.references[0].docKey, "a");
    await indexes.deleteKnowledgeBase("kb");
    await indexes.deleteKnowledgeSource("ks");
  },
  "an index is deleted": async () => {
    await indexes.deleteIndex("manuals");
    assert.equal((await refused(indexes.getIndex("manuals"))).statusCode, 404);
  },
};

let failed = 0;
for (const [name, step] of Object.entries(STEPS)) {
  try {
    await step();
    console.log(`passed ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`failed ${name}: ${String(error.message).split("\n")[0]}`);
  }
}
const total = Object.keys(STEPS).length;
console.log(`${total} steps: ${total - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
