import path from "node:path";
import { environment } from "./environment.js";
import { imagesOfPods } from "./images.js";
import { Node } from "./node.js";

let shared: Promise<Node> | undefined;

/**
 * The node that all tests of a run share, started on first use. Call it in a file's outermost describe block; the function it returns gives the node in tests and
 * hooks. The namespaces that were made meanwhile are deleted in the end.
 */
export function sharedNode(): () => Node {
  let node: Node | undefined;
  before("the node", async function () {
    this.timeout(180_000);
    shared ??= startNode();
    node = await shared;
  });
  after("what was left on the node", async () => {
    await node?.deleteTestNamespaces();
  });
  return () => {
    if (node === undefined) throw new Error("the node exists in tests and hooks only");
    return node;
  };
}

async function startNode(): Promise<Node> {
  return Node.start(await imagesOfPods(path.join(environment("BUNTING_NODE_DIRECTORY"), "images")));
}

// A hook of the root suite: runs once, after all files.
after("no node is left", async () => {
  await (await shared?.catch(() => undefined))?.stop();
});
