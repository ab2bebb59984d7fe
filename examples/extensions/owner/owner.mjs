import { flagOwner, serveExtension } from "@bunting/extension";

// Each flag has an owner: OWNERS names those that there are, separated by commas; without it, any text is one.
const owners = process.env.OWNERS?.split(",").map((owner) => owner.trim());
const severity = process.env.SEVERITY === "warning" ? "warning" : "error";
const { url } = await serveExtension({ lint: flagOwner({ severity, owners }) });
console.log(`owner: ${owners?.join(", ") ?? "any"} at ${url}`);
