import path from "node:path";
import { defineConfig } from "vitepress";
import { pageLinks, slugOf } from "./links.mjs";

/** A copy of docs/, made before each build: Vite finds Vue from the folders of pages upwards only. */
const pages = path.join(import.meta.dirname, "../dist/pages");

const page = (text, link) => ({ text, link });

/**
 * The generator knows one path at which the site is shown. Here it takes that from each page, which works it out (scripts/site/relative-links.ts): for
 * the scripts of pages, and for what its search finds.
 */
function basedOnPage() {
  const changes = [
    ["/app/utils.js", "import.meta.env.BASE_URL", "siteDataRef.value.base"],
    ["/VPLocalSearchBox.vue", "{ pathToFile }", "{ pathToFile, withBase }"],
    ["/VPLocalSearchBox.vue", ".slice(0, 16)", "$&.map((found) => ({ ...found, id: withBase(found.id) }))"],
  ];
  const transform = (code, id) =>
    changes.reduce((text, [file, from, to]) => (id.endsWith(file) ? text.replace(from, to) : text), code);
  return { name: "based-on-page", enforce: "pre", transform };
}

/** The pages of docs/ as a site: the texts are the same as in the repository, with its links. */
export default defineConfig({
  title: "Bunting",
  description: "Feature flags to every Pod of a Kubernetes cluster",
  srcDir: "dist/pages",
  outDir: "dist/html",
  cacheDir: "node_modules/.vitepress",
  // A page of its own, which the build copies.
  ignoreDeadLinks: [/playground/],
  rewrites: (file) => file.replace(/(^|\/)README\.md$/, "$1index.md"),
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => pageLinks(markdown, pages),
  },
  vite: { plugins: [basedOnPage()], experimental: { renderBuiltUrl: () => ({ relative: true }) } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      page("Start", "/start/"),
      page("Flags", "/flags/"),
      page("Operate", "/#operate"),
      page("Troubleshoot", "/troubleshoot/"),
      page("Reference", "/#reference"),
    ],
    sidebar: [
      {
        text: "Start",
        items: [
          page("Your application", "/start/application"),
          page("Node", "/start/node"),
          page("Docker Compose", "/start/docker-compose"),
          page("kind", "/start/kind"),
          page("A cluster", "/start/cluster"),
          page("The open-feature-operator", "/start/open-feature-operator"),
          page("Without an operator", "/start/without-operator"),
          page("Languages", "/start/sdk"),
          page("Migrate", "/start/migrate"),
        ],
      },
      {
        text: "Flags",
        items: [
          page("The format", "/flags/format"),
          page("Targeting", "/flags/targeting"),
          page("Operators", "/flags/operators"),
          page("Rollouts", "/flags/rollouts"),
          page("Shared conditions", "/flags/evaluators"),
          page("CI", "/flags/ci"),
          page("Housekeeping", "/flags/housekeeping"),
        ],
      },
      {
        text: "Operate",
        collapsed: true,
        items: [
          page("Outages", "/operate/outages"),
          page("Sizing", "/operate/sizing"),
          page("Limits", "/operate/limits"),
          page("Monitoring", "/operate/monitoring"),
          page("Alerts", "/operate/alerts"),
          page("Upgrades", "/operate/upgrade"),
          page("The proxy", "/operate/proxy"),
          page("Replicas", "/operate/replicas"),
          page("Tiers", "/operate/tiers"),
          page("The agent", "/operate/agent"),
          page("The operator", "/operate/operator"),
          page("Argo CD and Flux", "/operate/gitops"),
          page("Extensions", "/extensions/"),
          page("Recipes of extensions", "/extensions/recipes"),
          page("Write an extension", "/extensions/write"),
          page("Security", "/operate/security"),
        ],
      },
      {
        text: "Troubleshoot",
        collapsed: true,
        items: [
          page("By symptom", "/troubleshoot/"),
          page("An edit does not arrive", "/troubleshoot/edit-does-not-arrive"),
          page("FLAG_NOT_FOUND", "/troubleshoot/flag-not-found"),
          page("Everybody gets the default", "/troubleshoot/default-everywhere"),
          page("A user gets the wrong value", "/troubleshoot/wrong-value"),
          page("Which version a Pod has", "/troubleshoot/which-version"),
          page("No sidecar", "/troubleshoot/no-sidecar"),
          page("Refused: 401, 403", "/troubleshoot/refused"),
          page("Stale", "/troubleshoot/stale"),
          page("The agent is restarted", "/troubleshoot/restarts"),
          page("Flags are refused", "/troubleshoot/flags-refused"),
        ],
      },
      { text: "Reference", link: "/#reference" },
    ],
  },
});
