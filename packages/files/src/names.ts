export { isYamlName } from "./text/is-yaml-name.js";
export { isSkippedName } from "./watch/is-skipped-name.js";
