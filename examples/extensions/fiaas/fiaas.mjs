import { refuse, serveExtension } from "@bunting/extension";

// Asks a hook of FiaaS (its --extension-hook-url), which keeps to that protocol: POST {object, application} to URL/fiaas/deploy/KIND, where 200 is the
// whole object, and 404 leaves it as it is. `application` is what FiaaS has of fiaas.yml, here the configuration of the extension.
const root = process.env.FIAAS_HOOK_URL;
if (root === undefined)
  throw new Error("FIAAS_HOOK_URL is not set: write the value of FiaaS' --extension-hook-url");
const deploy = new URL("fiaas/deploy/", root.endsWith("/") ? root : `${root}/`);

async function preCreate({ object, configuration = {} }) {
  const response = await fetch(new URL(object.kind, deploy), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ object, application: configuration }),
    redirect: "error",
    // Within the 2 s that an Extension has by default, so that the reason is this one's.
    signal: AbortSignal.timeout(1_500),
  });
  const { status } = response;
  // FiaaS' own objects have neither, and a hook may have made its answer as it would for FiaaS.
  if (status === 200) return { apiVersion: object.apiVersion, kind: object.kind, ...(await response.json()) };
  const text = (await response.text()).trim();
  if (status >= 400 && status < 500 && status !== 404)
    refuse(`the hook of FiaaS answered ${status}${text === "" ? "" : `: ${text}`}`);
  if (status >= 500) throw new Error(`the hook of FiaaS answered ${status}: ${text}`);
  return undefined;
}

const { url } = await serveExtension({ preCreate });
console.log(`fiaas: ${deploy} at ${url}`);
