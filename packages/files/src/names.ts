export { isYamlName } from "./text/is-yaml-name.js";
