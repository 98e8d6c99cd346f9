// Markdown of a model as elements. markdown-it parses it, and its tokens become elements of Preact: no HTML is ever written,
// raw HTML stays text, an image becomes its alternative text, and a link is one only if it leads to http(s).

import { DataLink } from "./components.js";
import { html } from "./html.js";
import { h } from "./vendor/preact.js";
import MarkdownIt from "./vendor/markdown-it.js";

const PARSER = new MarkdownIt("commonmark", { html: false }).enable(["table", "strikethrough"]);
const [BEGIN, END] = ["\u2e28", "\u2e29"]; // around a claim: punctuation to the parser, so that they change no emphasis
const MARKS = new RegExp(`([${BEGIN}${END}])`, "u");
const BLOCK_SIGNS = /^(?:\s|>|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\|)*/u; // signs that make a line a list item, a heading or a row
const COMPUTED = "computed from the cited cells"; // the judge of a claim that begins with its figure, as in "36. Counted: …"
const STRAY_SIGNS = /^\*\*(?=\S)|(?<=\S)\*\*$/u; // of bold words that went on in a sentence that was left out

const ELEMENTS = {
  blockquote_open: "blockquote", bullet_list_open: "ul", em_open: "em", list_item_open: "li", ordered_list_open: "ol", paragraph_open: "p",
  s_open: "s", strong_open: "strong", table_open: "table", tbody_open: "tbody", td_open: "td", th_open: "th", thead_open: "thead", tr_open: "tr",
};

/**
 * Return the elements of a Markdown text whose claims are drawn by `drawClaim(claim, index, parts)`, where `parts` is the text
 * of the claim that stands in one place: a claim that is a row of a table has several; the last is called with `isLast`.
 * Return null where the marks of the claims got lost, as in a text that is cut off within a sign.
 */
export function renderMarkdown(text, claims, drawClaim) {
  const state = { claims, drawClaim, next: 0, open: null };
  const tokens = PARSER.parse(markClaims(text, claims), {});
  const elements = renderTokens(tokens, state);
  return state.next === claims.length && state.open === null ? elements : null;
}

function markClaims(text, claims) {
  const characters = [...text].map((sign) => ({ [BEGIN]: "((", [END]: "))" })[sign] ?? sign); // claims count characters, not UTF-16 units
  let position = 0;
  const pieces = [];
  for (const { start, end, judge } of claims) {
    const claim = characters.slice(start, end).join("");
    const signs = judge === COMPUTED ? "" : BLOCK_SIGNS.exec(claim)[0];
    const tail = /[\s|]*$/u.exec(claim.slice(signs.length))[0];
    pieces.push(characters.slice(position, start).join(""), signs, BEGIN, claim.slice(signs.length, claim.length - tail.length), END, tail);
    position = end;
  }
  return [...pieces, characters.slice(position).join("")].join("");
}

/** Return the elements of a flat list of tokens, in which an element's content stands between its opening and its closing. */
function renderTokens(tokens, state) {
  const stack = [{ children: [] }];
  for (const token of tokens) {
    if (token.nesting === 1) stack.push({ token, children: [] });
    else if (token.nesting === -1) {
      const { token: opening, children } = stack.pop();
      stack.at(-1).children.push(drawElement(opening, children));
    } else stack.at(-1).children.push(...drawLeaf(token, state));
  }
  return stack[0].children;
}

function drawElement(token, children) {
  if (token.hidden) return children; // a paragraph in a tight list
  if (token.type === "link_open") return html`<${DataLink} href=${stripMarks(token.attrGet("href") ?? "")}>${children}<//>`;
  if (token.type === "heading_open") return h("p", { class: "answer-heading" }, children); // the page has headings of its own
  const element = h(ELEMENTS[token.type] ?? "span", token.type === "ordered_list_open" ? { start: token.attrGet("start") } : null, children);
  return token.type === "table_open" ? html`<div class="answer-table" tabindex="0" role="region" aria-label="Table of the answer">${element}</div>` : element;
}

function drawLeaf(token, state) {
  switch (token.type) {
    case "inline":
      return renderTokens(token.children, state);
    case "softbreak": // rows of a quoted table stand below one another
    case "hardbreak":
      return [h("br")];
    case "hr":
      return [h("hr")];
    case "code_inline":
      return [h("code", null, drawText(token.content, state))];
    case "code_block":
    case "fence":
      return [h("pre", { tabindex: 0 }, drawText(token.content, state))];
    case "image":
      return drawText(token.content, state);
    default:
      return drawText(token.content, state);
  }
}

/** Return a text, its parts that belong to a claim drawn as such. */
function drawText(text, state) {
  const drawn = [];
  for (const part of text.split(MARKS)) {
    if (part === BEGIN && state.open === null) state.open = state.next++;
    else if (part === END && state.open !== null) {
      drawn.push(state.drawClaim(state.claims[state.open], state.open, "", true));
      state.open = null;
    } else if (part) drawn.push(state.open === null ? part : state.drawClaim(state.claims[state.open], state.open, part.replace(STRAY_SIGNS, ""), false));
  }
  return drawn;
}

const stripMarks = (address) => decodeMarks(address).replaceAll(BEGIN, "").replaceAll(END, "");
const decodeMarks = (address) => address.replaceAll(encodeURIComponent(BEGIN), "").replaceAll(encodeURIComponent(END), "");
