export { readYaml } from "./text/read-yaml.js";
export { yamlErrors } from "./text/yaml-errors.js";
export { defaultTextLimits } from "./text/text-limits.js";
