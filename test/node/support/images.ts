import path from "node:path";
import { readOciImage, type OciImage } from "../../../scripts/images/oci-image.js";
import { bundleApplication, bundleStockManager } from "./bundle-application.js";
import { registryName } from "./addresses.js";
import { environment } from "./environment.js";
import { linkedLibraries } from "./linked-libraries.js";
import { relabelImage, writeImage, type LayerFiles } from "./oci-writer.js";
import { upstreamImages } from "./upstream-images.js";
import { upstreamSuite } from "./upstream-suite.js";

/**
 * What stands in for flagd, which can't be built here: our agent under its name, with none of the variables that only ours knows, as flagd runs in a Pod of
 * ours.
 */
export const flagdImage = `${registryName}/flagd:v0.15.4`;

const asFlagd =
  "data:text/javascript,for (const name in process.env) if (name.startsWith('BUNTING_')) delete process.env[name]";

/** The images of all Pods, by `repository:tag`: ours as they were built, and those that Pods need besides, written into `directory`. */
export async function imagesOfPods(directory: string): Promise<ReadonlyMap<string, OciImage>> {
  const pods = environment("BUNTING_PODS_BIN");
  const layout = (name: string): string => path.join(directory, name);
  const script = path.join(directory, "application.cjs");
  await bundleApplication(script);
  const manager = path.join(directory, "manager");
  await bundleStockManager(manager);
  const recorded = path.join(import.meta.dirname, "../../fixtures/stock-operator");
  const application: LayerFiles = { "bin/node": process.execPath, ...linkedLibraries(process.execPath) };
  const images = new Map<string, OciImage>([
    [
      "pause:1",
      writeImage(layout("pause"), { Entrypoint: ["/pause"], User: "65535:65535" }, [
        { pause: path.join(pods, "pause") },
      ]),
    ],
    [
      "coredns:1",
      writeImage(layout("coredns"), { Entrypoint: ["/coredns"] }, [{ coredns: path.join(pods, "coredns") }]),
    ],
    [
      "application:1",
      writeImage(
        layout("application"),
        { Entrypoint: ["/bin/node", "/application.cjs"], User: "1000:1000" },
        [application, { "application.cjs": script }],
      ),
    ],
    [
      "stock-manager:1",
      writeImage(layout("stock-manager"), { User: "65532:65532" }, [
        application,
        {
          manager,
          "proxy-objects.json": path.join(recorded, "proxy-objects-managed-fields.json"),
          "workload-pod.json": path.join(recorded, "workload-pod.json"),
        },
      ]),
    ],
  ]);
  for (const name of ["agent", "proxy", "operator"]) {
    const image = readOciImage(environment("BUNTING_IMAGES"), name);
    images.set(`${name}:1`, image);
    // Two tags of one image would be reported under one name.
    images.set(`${name}:2`, relabelImage(image, layout(`${name}-2`), { "bunting.test/copy": "2" }));
    // As docs/start names it.
    const named = relabelImage(image, layout(`${name}-named`), { "bunting.test/copy": "named" });
    images.set(`bunting-${name}:0.1.0`, named);
  }
  const suite = upstreamSuite();
  const agent = readOciImage(environment("BUNTING_IMAGES"), "agent");
  const [program = "", ...args] = agent.settings.config.Entrypoint ?? [];
  const entrypoint = [program, `--import=${asFlagd}`, ...args];
  images.set(
    "flagd:v0.15.4",
    relabelImage(agent, layout("flagd"), { "bunting.test/copy": "flagd" }, entrypoint),
  );
  const named = suite === undefined ? [] : upstreamImages(suite, agent, layout("upstream"));
  return new Map([...images, ...named]);
}
