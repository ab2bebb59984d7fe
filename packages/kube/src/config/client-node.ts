/** The parts of client-node used at run time. Bundlers make a chunk of this module: 1 MB instead of 3.5. */
export { KubeConfig, loadYaml } from "@kubernetes/client-node";
