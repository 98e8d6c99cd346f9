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

/** What each number of a preset does, for somebody who may change it. 0 of a count leaves its stage out. */
const EXPLANATIONS = new Map([
  ["search_type", "What is searched: words (keyword), meaning (vector), both (hybrid), or both and then read by the cross-encoder (semantic)."],
  ["top_k", "Passages in the reply. More show more of the ranking and cost no more models."],
  ["semantic", "Passages that the cross-encoder reads together with the question, the largest part of a question's time. 0 leaves it out."],
  ["prior", "How far the first search can outweigh the cross-encoder, in standard deviations of its scores. 0 believes the cross-encoder alone."],
  ["captions", "Passages for which the sentence that fits best is chosen. 0 leaves captions out."],
  ["answers", "Sentences offered as short answers above the passages. 0 leaves them out."],
  ["candidates", "Passages that are searched for at least, however few are shown: what later stages can choose from."],
  ["rrf_k", "The constant of reciprocal rank fusion: the higher, the more low ranks count."],
  ["facet_limit", "Values that are counted for a field."],
  ["rewordings", "Other wordings of the question that are searched too. Finds more, and asks the chat model once."],
  ["imaginings", "Whether the chat model imagines an answer whose like is searched (HyDE). Needs a chat model."],
  ["rerank", "Passages that the chat model grades: the dearest step. 0 leaves it out."],
  ["overretrieve", "How many times more passages are searched for when some are graded."],
  ["top_n", "Passages that an answer is written from."],
  ["figure_passages", "Passages more where a question asks for a figure of a report that it names. 0: none."],
  ["context_tokens", "Tokens of these passages together: what a question costs at most on the way in."],
  ["context_chars", "Characters of a passage that an answer may use. 0 takes whole passages."],
  ["neighbours", "Chunks before and after a passage that are read with it."],
  ["relevance_min", "Passages less relevant than this are not answered from."],
  ["confidence_min", "Below this confidence the documents are quoted instead of a written answer."],
  ["entity_boost", "How far a passage with the question's names is raised, as a share of its score."],
  ["intent_boost", "How far a passage worded for the kind of question is raised, as a share of its score."],
  ["line_gap", "Passages this many lines apart or fewer are joined to one."],
  ["coverage_min", "The share of a joined passage's lines that the search must have found."],
  ["context_min_chars", "The length that a joined passage must have."],
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

/** Return what a number of a preset does, in a sentence. */
export const explainPresetNumber = (name) => EXPLANATIONS.get(name) ?? "";

/** Return the term for the name of a score. */
export const formatScore = (name) => SCORES.get(name) ?? spaceOut(name);

/** Return the term for the name of a component in the health report. */
export const formatComponent = (name) => COMPONENTS.get(name) ?? formatName(name);

/** Return the term for the label of a query variant: "original", "hyde", or "expanded" with its number. */
export const formatVariant = (label) => TERMS.get(label) ?? label.replace(/^expanded(\d+)$/, "expanded query $1");
