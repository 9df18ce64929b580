// spider (Rust) through its npm package, 50 sites at a time, robots.txt respected where it looks.
//   node spider_peer.mjs SEEDS DIR      (with NODE_PATH or a node_modules beside DIR)
import { createRequire } from "node:module";
import { appendFileSync, readFileSync } from "node:fs";

const [seedsFile, folder] = process.argv.slice(2);
const { Website } = createRequire(process.env.PEER_HOME + "/")("@spider-rs/spider-rs");
const seeds = readFileSync(seedsFile, "utf8").split("\n").filter(Boolean);
const strip = (html) => html.replace(/<[^>]*>/g, " ");

async function work() {
  for (let url = seeds.pop(); url; url = seeds.pop()) {
    const site = new Website(url).withRespectRobotsTxt(true).build();
    await site.crawl((error, page) => {
      const row = { url: page?.url, text: strip(page?.content ?? "") };
      appendFileSync(`${folder}/pages.jsonl`, JSON.stringify(row) + "\n");
    });
  }
}
await Promise.all(Array.from({ length: 50 }, work));
process.exit(0);
