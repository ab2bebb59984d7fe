import { serveExtension } from "@bunting/extension";
import { lint, preCreate } from "./hooks.ts";

const { url } = await serveExtension({ preCreate, lint });
console.log(`my-extension at ${url}`);
