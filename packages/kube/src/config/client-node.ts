/** What is used of client-node at run time. Bundlers make a chunk of this module, which leaves out the rest: 1 MB instead of 3.5. */
export { KubeConfig, loadYaml } from "@kubernetes/client-node";
