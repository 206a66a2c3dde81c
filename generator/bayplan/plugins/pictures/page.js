"use strict";
// Draws a scene: the tree of the cluster as boxes, with a cell per node or, where there are many, per domain.
const MOST_CELLS = 4000, MOST_TILES = 6000, MOST_GROUPS = 24, MOST_FOUND = 20;
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const view = byId("view");
const COLOURS = ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#bbcc33", "#99ddff", "#aaaa00"];
let scene, cluster, here;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const span = (first, number) => (number === 1 ? `${first}` : `${first}-${first + number - 1}`);

// The names of a hostlist, such as gb-a1-n[01-18,20],login.
function expand(text) {
  const names = [];
  for (const [item, before, inside, after] of text.matchAll(/([^,[]*)(?:\[([^\]]*)\]([^,]*))?(?:,|$)/g)) {
    if (!item) continue;
    if (inside === undefined) { names.push(before); continue; }
    for (const part of inside.split(",")) {
      const [low, high = low] = part.split("-");
      for (let n = Number(low); n <= Number(high); n++) {
        names.push(before + String(n).padStart(low.length, "0") + after);
      }
    }
  }
  return names;
}

// The tree of a cluster: every domain has its path, and the numbers of its first node and of the node after its last.
function grow(pools) {
  let next = 0;
  const root = { name: "all pools", path: [], level: "", first: 0, below: [], rows: [] };
  for (const pool of pools) {
    const top = { name: pool.name, path: [pool.name], level: "pool", first: next, below: [], up: root };
    root.below.push(top);
    for (const [path, size, hosts] of pool.rows) {
      let at = top;
      path.forEach((value, depth) => {
        let child = at.below[at.below.length - 1];
        if (!child || child.name !== value) {
          child = { name: value, path: [...at.path, value], level: pool.levels[depth], first: next, below: [], up: at };
          at.below.push(child);
        }
        at = child;
      });
      at.hosts = hosts;
      root.rows.push(at);
      next += size;
      for (let each = at; each; each = each.up) each.end = next;
    }
    top.end = next;
  }
  root.end = next;
  return root;
}

const nodesOf = (domain) => (domain.names ??= expand(domain.hosts));

function rowOf(node) {
  let low = 0, high = cluster.rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (cluster.rows[middle].first <= node) low = middle; else high = middle - 1;
  }
  return cluster.rows[low];
}

const nameOf = (node) => { const row = rowOf(node); return nodesOf(row)[node - row.first]; };

// Scenes: an array for each fact about nodes.
function load(number) {
  scene = data.scenes[number];
  cluster = data.clusters[scene.cluster].tree ??= grow(data.clusters[scene.cluster]);
  if (!scene.state) {
    scene.state = new Uint8Array(cluster.end);
    scene.group = new Int32Array(cluster.end).fill(-1);
    scene.pods = new Map();
    scene.taken = new Map();
    scene.reason = new Map();
    for (const [first, count, state] of scene.states) scene.state.fill(state, first, first + count);
    for (const [first, count, why] of scene.why) {
      for (let n = 0; n < count; n++) scene.reason.set(first + n, scene.reasons[why]);
    }
    for (const [first, count, other] of scene.occupied) {
      for (let n = 0; n < count; n++) scene.taken.set(first + n, scene.others[other]);
    }
    for (const [first, count, part, pod, each] of scene.seats) {
      for (let n = 0; n < count; n++) {
        if (scene.group[first + n] < 0) scene.group[first + n] = scene.parts[part][0];
        const here = scene.pods.get(first + n) ?? [];
        here.push([part, pod + n * each, each]);
        scene.pods.set(first + n, here);
      }
    }
  }
  here = cluster.below.length === 1 ? cluster.below[0] : cluster;
}

const groupClass = (group) => `g${group % data.colours}`;
const stateName = (node) => data.states[scene.state[node]][0];

function tally(domain) {
  const found = { groups: new Map(), states: new Map(), pods: 0 };
  for (let node = domain.first; node < domain.end; node++) {
    const group = scene.group[node], state = stateName(node);
    if (group >= 0) found.groups.set(group, (found.groups.get(group) ?? 0) + 1);
    else found.states.set(state, (found.states.get(state) ?? 0) + 1);
    for (const [, , number] of scene.pods.get(node) ?? []) found.pods += number;
  }
  return found;
}

const total = (counts) => [...counts.values()].reduce((one, other) => one + other, 0);

function aboutNode(node) {
  const facts = [`${nameOf(node)} in ${rowOf(node).path.join("/")}`];
  for (const [part, pod, number] of scene.pods.get(node) ?? []) {
    const [, name, rank] = scene.parts[part];
    const ranks = rank === null ? "" : `, ${number === 1 ? "rank" : "ranks"} ${span(rank + pod, number)}`;
    facts.push(`${name} ${number === 1 ? "pod" : "pods"} ${span(pod, number)}${ranks}`);
  }
  facts.push(...(scene.taken.get(node) ?? []).slice(1).map((other) => `occupied by ${other}`));
  if (scene.reason.has(node)) facts.push(scene.reason.get(node));
  else if (!scene.pods.has(node) && !scene.taken.has(node)) facts.push(data.states[scene.state[node]][1]);
  return facts.join("; ");
}

function aboutDomain(domain) {
  const found = tally(domain), placed = total(found.groups);
  const states = data.states.filter(([word]) => found.states.has(word));
  const facts = states.map(([word, text]) => `${found.states.get(word)} ${text}`);
  const ours = placed ? [`${plural(found.pods, "pod")} on ${plural(placed, "node")}`] : [];
  const title = `${domain.level} ${domain.path.join("/")}: ${plural(domain.end - domain.first, "node")}`.trim();
  return [title, ...ours, ...facts].join("; ");
}

function label(node) {
  const ranked = (scene.pods.get(node) ?? []).filter(([part]) => scene.parts[part][2] !== null);
  if (!ranked.length) return "";
  const [part, pod, number] = ranked[0];
  const text = span(scene.parts[part][2] + pod, number);
  return ranked.length === 1 && text.length <= 5 ? text : `${scene.parts[part][2] + pod}\u2026`;
}

function cell(node, name) {
  const group = scene.group[node];
  const made = element("button", `cell ${group < 0 ? stateName(node) : groupClass(group)}`, label(node));
  const full = scene.taken.get(node)?.[0];
  if (group < 0 && full < 1000 && stateName(node) === "occupied") {
    made.style.background = `linear-gradient(to top, var(--occupied) ${full / 10}%, var(--free) ${full / 10}%)`;
  }
  made.tabIndex = -1;
  made.dataset.node = node;
  made.setAttribute("aria-label", name);
  return made;
}

function tile(domain) {
  const made = element("button", "tile"), found = tally(domain), size = domain.end - domain.first;
  const shares = [...found.groups].map(([group, number]) => [COLOURS[group % data.colours], number]);
  for (const [word, number] of found.states) {
    const colour = { free: "var(--free)", beyond: "var(--free)", occupied: "var(--occupied)" }[word] ?? "var(--stroke)";
    shares.push([colour, number]);
  }
  let at = 0;
  const stops = shares.map(([colour, number]) => `${colour} ${at}% ${(at += (100 * number) / size)}%`);
  made.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  made.tabIndex = -1;
  made.domain = domain;
  made.setAttribute("aria-label", domain.name);
  return made;
}

const isShort = (domain) =>
  scene.missing && domain.path.join("\n") === [scene.missing.pool, ...scene.missing.path].join("\n");

function head(domain) {
  const made = element("button", "head", domain.name);
  made.tabIndex = -1;
  made.domain = domain;
  return made;
}

function lack() {
  const made = element("div", "lack", `no room for ${plural(scene.missing.pods, "pod")}`);
  const cells = element("div", "tiles");
  for (let n = 0; n < Math.min(scene.missing.nodes, 36); n++) cells.append(element("span", "cell missing"));
  made.append(cells);
  return made;
}

// A domain as a box. `depth`: how many levels below it are boxes; the level below these has tiles.
function box(domain, depth) {
  const made = element("section", isShort(domain) ? "box short" : "box");
  made.append(head(domain));
  if (domain.hosts !== undefined) {
    const groups = [...tally(domain).groups.keys()];
    const text = groups.length > 1 ? plural(groups.length, "group") : groups.length ? scene.groups[groups[0]][1] : "";
    if (scene.groups.length) made.append(element("div", "note", text));
    const cells = element("div", "cells"), names = nodesOf(domain);
    names.forEach((name, n) => cells.append(cell(domain.first + n, name)));
    if (names.length > 20) made.classList.add("wide");
    made.append(cells);
  } else {
    const inside = element("div", depth ? "inside" : "tiles");
    for (const each of domain.below) inside.append(depth ? box(each, depth - 1) : tile(each));
    made.append(inside);
  }
  if (isShort(domain)) made.append(lack());
  return made;
}

// How many levels below a domain are boxes, so that the page stays fast.
function depthOf(domain) {
  if (domain.end - domain.first <= MOST_CELLS) return 100;
  let depth = 0, level = domain.below;
  for (;;) {
    const next = level.flatMap((each) => each.below);
    if (!next.length || next.length > MOST_TILES) return depth;
    level = next;
    depth++;
  }
}

function draw() {
  view.replaceChildren(box(here, depthOf(here)));
  view.classList.toggle("dense", here.end - here.first > 1200);
  const path = [];
  for (let each = here; each; each = each.up) if (each.up || cluster.below.length > 1) path.unshift(each);
  byId("crumbs").hidden = path.length < 2;
  byId("crumbs").replaceChildren(...path.flatMap((each, n) => {
    const made = element("button", "", each.name);
    made.addEventListener("click", () => open(each));
    if (each === here) made.setAttribute("aria-current", "page");
    return n ? [element("span", "", "›"), made] : [made];
  }));
  const used = new Set();
  for (let node = here.first; node < here.end; node++) if (scene.group[node] < 0) used.add(stateName(node));
  byId("legend").replaceChildren(...data.states.filter(([word]) => used.has(word)).map(([word, text]) => {
    const made = element("li", "", ""), sample = element("i", `cell ${word}`);
    made.append(sample, element("span", "", text));
    return made;
  }));
  const first = view.querySelector("button");
  if (first) first.tabIndex = 0;
}

function open(domain) {
  here = domain;
  location.hash = encodeURIComponent(JSON.stringify(domain.path));
  draw();
  move(view.querySelector("button"));
}

function openPath() {
  let at = cluster, path = [];
  try { path = JSON.parse(decodeURIComponent(location.hash.slice(1)) || "[]"); } catch { return; }
  if (path.join("\n") === here.path.join("\n")) return;
  for (const name of path) at = at.below.find((each) => each.name === name) ?? at;
  here = at === cluster && cluster.below.length === 1 ? cluster.below[0] : at;
  draw();
  move(view.querySelector("button"));
}

function show(target) {
  const item = target.closest?.("[data-node], .tile, .head");
  if (item) byId("about").textContent = item.domain ? aboutDomain(item.domain) : aboutNode(Number(item.dataset.node));
}

function move(item) {
  if (!item) return;
  view.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  item.tabIndex = 0;
  item.focus();
}

// The nearest item above (-1) or below (1) another.
function beside(item, sign) {
  const from = item.getBoundingClientRect();
  let best = null, least = Infinity;
  for (const each of view.querySelectorAll("button")) {
    const to = each.getBoundingClientRect(), down = sign * (to.top - from.top);
    const far = 2 * down + Math.abs(to.left - from.left);
    if (down > 4 && far < least) [best, least] = [each, far];
  }
  return best;
}

view.addEventListener("mouseover", (event) => show(event.target));
view.addEventListener("focusin", (event) => show(event.target));
view.addEventListener("click", (event) => {
  const item = event.target.closest("button");
  if (item?.domain && item.domain !== here) open(item.domain);
  else if (item) { move(item); show(item); }
});
view.addEventListener("keydown", (event) => {
  const items = [...view.querySelectorAll("button")], at = items.indexOf(document.activeElement);
  const next = {
    ArrowRight: () => items[at + 1], ArrowLeft: () => items[at - 1], Home: () => items[0], End: () => items.at(-1),
    ArrowDown: () => beside(items[at], 1), ArrowUp: () => beside(items[at], -1),
  }[event.key];
  if (next && at >= 0) { event.preventDefault(); move(next()); }
  if (event.key === "Escape" && here.up && (here.up.up || cluster.below.length > 1)) open(here.up);
});
addEventListener("hashchange", openPath);

// Search: nodes, domains, groups, ranks and what occupies nodes.
function reveal(node) {
  const row = rowOf(node);
  if (node < here.first || node >= here.end || depthOf(here) < 100) open(row);
  const item = view.querySelector(`[data-node="${node}"]`);
  view.querySelector(".hit")?.classList.remove("hit");
  item?.classList.add("hit");
  item?.scrollIntoView({ block: "center" });
  move(item);
}

function* matches(text) {
  const rank = /^rank (\d+)$/.exec(text);
  if (rank) {
    for (const [first, count, part, pod, each] of scene.seats) {
      const [, name, start] = scene.parts[part], at = Math.floor((Number(rank[1]) - start - pod) / each);
      if (start !== null && at >= 0 && at < count) yield [`${text}: ${name} on ${nameOf(first + at)}`, () => reveal(first + at)];
    }
    return;
  }
  for (const [number, [gang, name, pods]] of scene.groups.entries()) {
    if (`${gang} ${name}`.toLowerCase().includes(text)) {
      yield [`group ${name}: ${plural(pods, "pod")}`, () => reveal(scene.group.indexOf(number))];
    }
  }
  const stack = [...cluster.below].reverse();
  while (stack.length) {
    const domain = stack.pop();
    if (domain.name.toLowerCase().includes(text)) yield [`${domain.level} ${domain.path.join("/")}`, () => open(domain)];
    stack.push(...[...domain.below].reverse());
  }
  for (const row of cluster.rows) {
    for (const [n, name] of nodesOf(row).entries()) {
      if (name.toLowerCase().includes(text)) yield [`node ${name}`, () => reveal(row.first + n)];
    }
  }
  for (const [first, , other] of scene.occupied) {
    for (const name of new Set(scene.others[other].slice(1))) {
      if (name.toLowerCase().includes(text)) yield [`${name} on ${nameOf(first)}`, () => reveal(first)];
    }
  }
}

byId("search").addEventListener("input", (event) => {
  const text = event.target.value.trim().toLowerCase(), found = [];
  if (text) {
    for (const match of matches(text)) {
      if (found.push(match) > MOST_FOUND) break;
    }
  }
  const items = found.slice(0, MOST_FOUND).map(([title, act]) => {
    const item = element("li"), made = element("button", "", title);
    made.addEventListener("click", act);
    item.append(made);
    return item;
  });
  if (found.length > MOST_FOUND) items.push(element("li", "", "and more"));
  if (text && !found.length) items.push(element("li", "", "nothing found"));
  byId("found").replaceChildren(...items);
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") byId("found").querySelector("button")?.click();
});

function start(number) {
  load(number);
  byId("title").textContent = scene.title;
  byId("note").textContent = scene.note;
  byId("missing").hidden = !scene.missing;
  byId("hint").hidden = !scene.missing?.hint;
  byId("missing").textContent = scene.missing ? `Does not fit: ${scene.missing.message}` : "";
  byId("hint").textContent = scene.missing?.hint ? `What would fit: ${scene.missing.hint}` : "";
  const found = tally(cluster), states = data.states.filter(([word]) => found.states.has(word));
  const counts = [["nodes", cluster.end], ["pods", found.pods], ["nodes with pods", total(found.groups)]];
  counts.push(...states.map(([word, text]) => [text, found.states.get(word)]));
  byId("counts").replaceChildren(...counts.map(([name, count]) => {
    const made = element("div");
    made.append(element("dt", "", name), element("dd", "", count));
    return made;
  }));
  const groups = scene.groups.slice(0, MOST_GROUPS).map(([gang, name, pods, domain], n) => {
    const item = element("li"), made = element("button"), sample = element("i", groupClass(n));
    const several = scene.groups.some((each) => each[0] !== gang);
    const text = `${several ? `${gang} ` : ""}${name}: ${plural(pods, "pod")}${domain ? ` in ${domain}` : ""}`;
    made.append(sample, element("span", "", text));
    made.addEventListener("click", () => reveal(scene.group.indexOf(n)));
    item.append(made);
    return item;
  });
  if (scene.groups.length > MOST_GROUPS) {
    groups.push(element("li", "", `and ${scene.groups.length - MOST_GROUPS} more; the search finds them`));
  }
  byId("groups").replaceChildren(...groups);
  draw();
}

data.scenes.forEach((each, number) => {
  const made = element("option", "", `${each.title}: ${each.note}`);
  made.value = number;
  byId("scene").append(made);
});
byId("moment").hidden = data.scenes.length < 2;
byId("scene").addEventListener("change", (event) => start(Number(event.target.value)));
if (data.scenes.length) {
  start(0);
  openPath();
}
