export { readYaml } from "./text/read-yaml.js";
export { yamlErrors } from "./text/yaml-errors.js";
export { defaultTextLimits } from "./text/text-limits.js";
export { yamlText } from "./text/yaml-text.js";
