// Whether a chat model is configured; without one local techniques stand in, and no page offers to run a model.

import { getJson } from "./api.js";
import { useLoad } from "./components.js";

const LOCAL_MODELS = ["local techniques", "none"];

/** Return whether there is a chat model, null until that is known. */
export function useChatModel() {
  const { data } = useLoad(() => getJson("api/health"));
  return data && !LOCAL_MODELS.includes(data.parts.llm);
}
