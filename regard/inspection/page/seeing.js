// The page of a picture that `regard inspect` writes: what was seen stands in the page itself.

import { followScheme } from "./colors.js";
import { showSeen } from "./picture_attention.js";

const find = (id) => document.getElementById(id);
const seen = JSON.parse(find("explanation").textContent);
find("model").textContent = [seen.model, seen.name].filter(Boolean).join(" · ");
followScheme(find("theme"), showSeen(seen));
