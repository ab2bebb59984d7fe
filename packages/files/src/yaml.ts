export { readYaml } from "./text/read-yaml.js";
export { defaultTextLimits } from "./text/text-limits.js";
