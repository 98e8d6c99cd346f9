// JSX without a build step: htm parses the templates and preact renders them. A value in a template becomes a text or an
// attribute, never markup.

import { h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { render };
export { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
export const html = htm.bind(h);
