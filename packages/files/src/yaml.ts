export { readYaml } from "./text/read-yaml.js";
