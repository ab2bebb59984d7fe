/**
 * `npm run machinery`: builds what test:cluster, test:helm, test:images and test:node need and would build themselves, so that it can be done
 * beside something else. What can't be built here is left out in silence: those tests say why they are skipped.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { buildHelm } from "./helm-machinery.js";
import { buildImages } from "./images/build-images.js";
import { missingForImages } from "./images/buildah.js";
import { buildNodeMachinery } from "./node-machinery.js";
import { missingForNode } from "./real-node/requirements.js";

// One after the other: they share what Go has compiled, and each build takes all cores.
await buildMachinery();
await buildHelm();
if (missingForNode() === undefined && missingForImages() === undefined) await buildNodeMachinery();
buildImages();
