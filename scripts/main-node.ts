/**
 * Prints the folder of the node that the gate runs on, for PATH: Node 24, as our images, fetched from npm once. Where it can't be had, that is
 * the node which runs this, and a line on stderr says so.
 */
import path from "node:path";
import { findNode } from "./find-node.js";
import { linkNode } from "./link-node.js";
import { exitIfMissing, refusalOf } from "./required-parts.js";

const node24 = findNode(24);
if ("missing" in node24) {
  exitIfMissing(() => [refusalOf("node24", node24.missing)]);
  console.error(`bunting: the gate runs on ${process.version}, not on Node 24: ${node24.missing}`);
  console.log(path.dirname(process.execPath));
} else {
  console.error(`bunting: the gate runs on Node 24: ${node24.binary}`);
  console.log(path.dirname(linkNode(node24.binary, 24)));
}
