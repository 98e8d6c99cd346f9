// The glossary's terms for names in replies that differ from them (docs/glossary.md). Other names are shown as they are.

const TERMS = new Map([
  ["chars", "characters"],
  ["dense", "vector search"],
  ["document_ids", "document IDs"],
  ["hyde", "HyDE answer"],
  ["hyde_answer", "HyDE answer"],
  ["hyde_chars", "HyDE answer characters"],
  ["keep", "save"],
  ["llm", "chat model"],
  ["meaning", "vector search"],
  ["multi_query", "query variants"],
  ["original", "query text"],
  ["original_query", "query text"],
  ["query", "query text"],
  ["quote", "captions"],
  ["rag_augmentation", "augmented prompt"],
  ["ranker", "cross-encoder"],
  ["reranker", "cross-encoder"],
  ["semantic", "cross-encoder"],
  ["space", "embedding space"],
  ["words", "lexical search"],
]);

const PRESET_NUMBERS = new Map([
  ["answers", "semantic answers"],
  ["confidence_min", "minimum confidence"],
  ["context_chars", "context characters"],
  ["context_min_chars", "minimum context characters"],
  ["coverage_min", "minimum coverage"],
  ["imaginings", "HyDE answers"],
  ["neighbours", "neighbouring chunks"],
  ["overretrieve", "over-retrieval factor"],
  ["prior", "search prior"],
  ["relevance_min", "minimum relevance"],
  ["rerank", "LLM grading hits"],
  ["rewordings", "expanded queries"],
  ["rrf_k", "RRF k"],
  ["semantic", "cross-encoder hits"],
]);

const SCORES = new Map([
  ["entity_boost", "entities"],
  ["intent_boost", "intent"],
  ["meaning", "vector"],
  ["rerank", "reranked"],
  ["words", "lexical"],
]);

const COMPONENTS = new Map([["documents", "document parsing"]]);

const spaceOut = (name) => name.replaceAll("_", " ");

/** Return the term for the name of a step, a technique, an input or an output. */
export const formatName = (name) => TERMS.get(name) ?? spaceOut(name);

/** Return the term for the name of a number of a preset. */
export const formatPresetNumber = (name) => PRESET_NUMBERS.get(name) ?? spaceOut(name);

/** Return the term for the name of a score. */
export const formatScore = (name) => SCORES.get(name) ?? spaceOut(name);

/** Return the term for the name of a component in the health report. */
export const formatComponent = (name) => COMPONENTS.get(name) ?? formatName(name);

/** Return the term for the label of a query variant: "original", "hyde", or "expanded" with its number. */
export const formatVariant = (label) => TERMS.get(label) ?? label.replace(/^expanded(\d+)$/, "expanded query $1");
