import path from "node:path";
import { defineConfig } from "vitepress";
import { pageLinks, slugOf } from "./links.mjs";

/** A copy of docs/, made before each build: Vite finds Vue from the folders of pages upwards only. */
const pages = path.join(import.meta.dirname, "../pages");

const page = (text, link) => ({ text, link });

/** The pages of docs/ as a site: the texts are the same as in the repository, with its links. */
export default defineConfig({
  title: "Bunting",
  description: "Feature flags to every Pod of a Kubernetes cluster",
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "node_modules/.vitepress",
  rewrites: (file) => file.replace(/(^|\/)README\.md$/, "$1index.md"),
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => pageLinks(markdown, pages),
  },
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
      { text: "Operate", link: "/#operate" },
      { text: "Troubleshoot", link: "/troubleshoot/" },
      { text: "Reference", link: "/#reference" },
    ],
  },
});
