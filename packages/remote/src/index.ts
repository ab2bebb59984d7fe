export { mergeRemote, type MergedRemote, type Side } from "./merge-remote.js";
