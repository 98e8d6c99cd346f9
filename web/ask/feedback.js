// Whether an answer was right, with a comment; both are kept with the saved answer.

import { sendJson } from "../api.js";
import { Button, ErrorBox, Field, useAction } from "../components.js";
import { html, useState } from "../html.js";

const RATINGS = [
  ["up", "This answer is right"],
  ["down", "This answer is wrong"],
];
const THUMB = "M2 9h3v9H2zM7 18V9l4-7c1.6 0 2.3 1.2 2 2.6L12.3 8H17c1.2 0 1.9 1 1.6 2.1l-1.7 6.4c-.2.9-1 1.5-1.9 1.5z"; // drawn: not every system has the letter

export function Feedback({ turn }) {
  const [feedback, setFeedback] = useState(turn.feedback ?? { rating: null, comment: "" });
  const [isOpen, setIsOpen] = useState(false);
  const { busy, error, act } = useAction();
  const send = async (changed) => {
    const reply = await act("send", () => sendJson("PUT", `rag/queries/${turn.kept}/feedback`, changed));
    if (reply) setFeedback(reply.feedback);
    return reply;
  };
  const comment = async (event) => {
    event.preventDefault();
    const words = new FormData(event.target).get("comment").trim();
    if (await send({ rating: feedback.rating, comment: words })) setIsOpen(false);
  };
  const rate = async (rating) => {
    if (await send({ rating, comment: feedback.comment })) setIsOpen(true);
  };
  return html`<span class="feedback" role="group" aria-label="Rate this answer">${RATINGS.map(([rating, label]) => html`
      <${Button} kind="quiet" busy=${busy !== null} aria-pressed=${feedback.rating === rating} aria-label=${label} title=${label} onClick=${() => rate(rating)}><svg class="thumb ${rating}" viewBox="0 0 20 20" aria-hidden="true"><path d=${THUMB} /></svg><//>`)}</span>
    <span role="status" class="hint">${feedback.rating && !isOpen && "Thank you, that is kept."}</span>
    ${isOpen && html`<form class="stack tight comment" onSubmit=${comment}>
      <${Field} label="Comment" hint="Kept with the answer. May be left empty.">${(attributes) => html`<textarea ...${attributes} name="comment" rows="2" maxlength="2000">${feedback.comment}</textarea>`}<//>
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy !== null}>Keep the comment<//><button type="button" onClick=${() => setIsOpen(false)}>No comment</button></div>
    </form>`}
    ${error && html`<${ErrorBox} error=${error} />`}`;
}
