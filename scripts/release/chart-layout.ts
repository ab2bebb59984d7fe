import { OciLayout } from "./oci-layout.js";

/** Media types of Helm's charts in registries: https://helm.sh/docs/topics/registries/ */
const configType = "application/vnd.cncf.helm.config.v1+json";
const contentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const manifestType = "application/vnd.oci.image.manifest.v1+json";

/** The fields of Chart.yaml that a manifest repeats. */
export interface ChartMetadata {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly home: string;
  readonly [field: string]: unknown;
}

/** Writes a packaged chart as an OCI layout, under the name of its version: what `helm push` stores in a registry, for those who copy from files. */
export function writeChartLayout(archive: string, chart: ChartMetadata, target: string): void {
  const layout = new OciLayout(target);
  const content = layout.addFile(archive, contentType);
  const config = layout.addJson(chart, configType);
  const annotations = {
    "org.opencontainers.image.title": chart.name,
    "org.opencontainers.image.version": chart.version,
    "org.opencontainers.image.description": chart.description,
    "org.opencontainers.image.url": chart.home,
    "org.opencontainers.image.source": chart.home,
  };
  const manifest = { schemaVersion: 2, mediaType: manifestType, config, layers: [content], annotations };
  layout.publish(layout.addJson(manifest, manifestType), chart.version);
}
