"use strict";
// All text of the log is put in as text nodes by make(): nothing here parses markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const make = (tag, attributes, ...children) => {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) one.setAttribute(name, value);
  one.append(...children.filter(child => child !== null));
  return one;
};
const several = (n, one, more = one + "s") => n.toLocaleString("en") + " " + (n === 1 ? one : more);
const figure = value => value.toFixed(3).replace(/^(-?)0\./, "$1.");
const signed = value => (value >= 0 ? "+" : "") + figure(value);
const flat = text => text.replace(/\s+/g, " ").trim();
const steps = data.steps;
const LOST = ["superseded", "archived", "changed", "edited", "forgotten"];
const TITLES = { written: "Written", known: "Told again, known already", superseded: "Superseded", archived: "Archived, no longer recalled",
  changed: "Less sure now", edited: "Edited", restored: "Restored", forgotten: "Forgotten" };

// what the timeline and the filters count of a step
const found = steps.map(step => {
  const written = step.changes.filter(change => change.what === "written");
  return { recalled: step.recalls.reduce((n, recall) => n + recall.hits.length, 0), written: written.length,
    learned: written.filter(change => !["turn", undefined].includes(data.notes[change.note].kind)).length,
    lost: step.changes.filter(change => LOST.includes(change.what)).length, any: step.changes.length };
});
const FILTERS = { all: () => true, any: one => one.recalled || one.any, recalled: one => one.recalled, learned: one => one.learned, lost: one => one.lost };
const name = step => step.at >= data.ended ? "After the last turn" : "Turn " + step.at;
const speaker = step => step.role === undefined ? (step.at >= data.ended ? "" : "erased") : step.speaker && step.speaker !== step.role ? step.speaker + ", " + step.role : step.role;

// -- one step ---------------------------------------------------------------------------------------------------

const words = (text, kind) => make("p", { class: kind, dir: "auto" }, text);
const visit = at => make("button", { type: "button", class: "visit", "data-at": at }, "turn " + at);
const note = (number, step) => {
  const one = data.notes[number];
  if (one.text === undefined) return [words("forgotten since: its words are gone", "soft")];
  const own = one.kind === "turn" && step && one.from.includes(step.at) && step.text !== undefined && flat(one.text).endsWith(flat(step.text));
  const where = one.from.filter(at => !step || at !== step.at).flatMap((at, i) => [i ? ", " : "from ", visit(at)]);
  const facts = [one.kind, one.origin === "user" ? "" : one.origin, one.outcome === "unknown" ? "" : one.outcome, one.version > 1 ? "version " + one.version : ""].filter(Boolean);
  if (own) return [words("this turn, as it was said", "soft")];
  return [words(one.text, "note"), make("p", { class: "soft small" }, facts.join(", ") + (where.length ? ", " : ""), ...where)];
};
const bars = (hit, most) => {
  const list = make("ul", { class: "why", "aria-label": "why it was recalled" });
  for (const [number, value] of hit.why) {
    const bar = make("i", { class: value < 0 ? "minus" : "plus" });
    bar.style.width = 50 * Math.abs(value) / most + "%";
    list.append(make("li", null, make("span", { class: "name", dir: "auto" }, data.names[number]), make("span", { class: "track", "aria-hidden": "true" }, bar), make("span", { class: "value" }, signed(value))));
  }
  list.append(make("li", { class: "sum" }, make("span", { class: "name" }, "together"), make("span"), make("span", { class: "value" }, signed(hit.why.reduce((sum, [, value]) => sum + value, 0)))));
  return list;
};
// ranked by score, but for what superseded another hit: that stands before it, for its reasons where it was not found itself
const alike = (one, other) => one.similarity === undefined && one.why.length && JSON.stringify(one.why) === JSON.stringify(other.why);
const newer = (hit, below) => hit.score !== undefined && below.some(one => one.score > hit.score || alike(hit, one));
const hitOf = (hit, rank, hits, step, most) => {
  const figures = ["utility", "score", "similarity"].filter(key => hit[key] !== undefined).map(key => make("b", { class: key }, key + " " + figure(hit[key])));
  const flags = [hit.shown === false ? "not put into the prompt" : "", hit.cited ? "used by the reply" : "", newer(hit, hits.slice(rank + 1)) ? "the newer value: stands before the one it replaced" : ""].filter(Boolean).map(flag => make("span", { class: "flag" }, flag));
  return make("li", { class: "hit" }, make("p", { class: "figures" }, ...figures, ...flags), ...note(hit.note, step), hit.why.length ? bars(hit, most) : null);
};
const recallOf = (recall, step) => {
  if (!recall.trigger) return make("p", { class: "soft" }, "Nothing asked for a recall.");
  if (!recall.hits.length) return make("p", { class: "soft" }, "Nothing was worth recalling.");
  const most = Math.max(...recall.hits.flatMap(hit => hit.why.map(([, value]) => Math.abs(value))), 1e-9);
  const why = recall.trigger === "asked" ? null : make("p", { class: "soft small" }, "set off by: " + recall.trigger);
  return make("div", null, why, make("ol", { class: "hits" }, ...recall.hits.map((hit, rank) => hitOf(hit, rank, recall.hits, step, most))));
};
const changeOf = (change, step) => {
  const why = change.why ? make("p", { class: "soft small", dir: "auto" }, "why: " + change.why) : null;
  if (change.by === undefined) return make("li", { class: change.what }, ...note(change.note, step), why);
  return make("li", { class: change.what + " pair" }, make("div", { class: "old" }, ...note(change.note, step)), make("div", { class: "arrow", role: "img", "aria-label": "became" }, "→"), make("div", { class: "new" }, ...note(change.by, step)), why);
};
const part = (title, n, ...children) => make("section", { class: "card" }, make("h3", null, title, n === null ? null : make("span", { class: "soft" }, " " + n)), ...children);
const callOf = call => make("li", null, make("code", { dir: "auto" }, call.name + "(" + call.arguments + ")"), call.result === null ? null : words("→ " + call.result, "note"), make("span", { class: "soft small" }, call.outcome));

const draw = number => {
  const step = steps[number], session = step.session === undefined ? "" : "session " + (step.session + 1);
  const about = [session, speaker(step), step.time || ""].filter(Boolean).join(" · ");
  const said = step.text === undefined ? words(step.at >= data.ended ? "Nothing has been said yet." : "What was said here was forgotten: its words are gone.", "soft") : words(step.text, "said");
  const parts = [make("h2", { id: "where" }, name(step), make("span", { class: "soft" }, " " + about)), part("Said", null, said, step.calls ? make("ul", { class: "calls", "aria-label": "tool calls" }, ...step.calls.map(callOf)) : null)];
  if (step.recalls.length) parts.push(part("Recalled before it", found[number].recalled, ...step.recalls.map(recall => recallOf(recall, step))));
  for (const [what, title] of Object.entries(TITLES)) {
    const own = step.changes.filter(change => change.what === what);
    if (own.length) parts.push(part(title, own.length, make("ul", { class: "changes" }, ...own.map(change => changeOf(change, step)))));
  }
  if (!step.changes.length && step.text !== undefined) parts.push(make("p", { class: "soft" }, "Nothing was written or changed."));
  const [active, superseded, archived] = step.kept;
  parts.push(make("p", { class: "soft kept" }, "After it: " + several(active, "memory", "memories") + " in force, " + superseded.toLocaleString("en") + " superseded, " + archived.toLocaleString("en") + " archived."));
  byId("step").replaceChildren(...parts);
  for (const text of byId("step").querySelectorAll(".said, .note")) if (text.scrollHeight > text.clientHeight + 1) text.tabIndex = 0; // scrolls by keys
};

// -- the timeline -------------------------------------------------------------------------------------------------

const quiet = text => make("span", { class: "quiet" }, text); // for those who hear the page
const mark = (kind, n, what) => n ? make("i", { class: "mark " + kind, title: n + " " + what }, n.toString(), quiet(" " + what + ", ")) : null;
const rows = steps.map((step, number) => {
  const one = found[number], text = flat((step.text || "").slice(0, 200)).slice(0, 90), end = step.at >= data.ended;
  const button = make("button", { type: "button", tabindex: "-1", "data-number": number },
    make("span", { class: "at" }, quiet(end ? "" : "turn "), end ? "end" : step.at.toString(), quiet(" " + speaker(step) + " ")),
    make("span", { class: "text " + (step.role || ""), dir: "auto" }, text || "–"),
    make("span", { class: "counts" }, mark("recall", one.recalled, "recalled"), mark("fact", one.learned, "learned"), mark("write", one.written, "written"), mark("lost", one.lost, "gave way")));
  return make("li", null, button);
});
const groups = [];
steps.forEach((step, number) => {
  const session = step.session === undefined ? (groups.length ? groups[groups.length - 1].session : 0) : step.session;
  if (!groups.length || groups[groups.length - 1].session !== session) {
    const list = make("ol", null), day = data.sessions[session];
    groups.push({ session, list, whole: make("section", null, make("h3", null, "Session " + (session + 1) + (day ? " · " + day : "")), list) });
  }
  groups[groups.length - 1].list.append(rows[number]);
});
byId("timeline").append(...groups.map(group => group.whole));

// -- walking ------------------------------------------------------------------------------------------------------

let visible = steps.map((_, number) => number), now = 0;
const texts = steps.map(step => (step.text || "").toLowerCase());
const show = number => {
  const timeline = byId("timeline"), old = rows[now].firstChild, focused = document.activeElement === old;
  old.removeAttribute("aria-current");
  old.tabIndex = -1;
  now = number;
  const button = rows[now].firstChild, place = Math.max(0, visible.indexOf(now));
  button.setAttribute("aria-current", "step");
  button.tabIndex = 0;
  if (focused) button.focus({ preventScroll: true });
  const box = timeline.getBoundingClientRect(), row = button.getBoundingClientRect();
  if (row.top < box.top || row.bottom > box.bottom) timeline.scrollTop += row.top - box.top - (box.height - row.height) / 2;
  byId("slider").value = place;
  byId("slider").setAttribute("aria-valuetext", name(steps[now]));
  byId("back").disabled = place === 0;
  byId("next").disabled = place >= visible.length - 1;
  byId("place").textContent = visible.length ? (place + 1).toLocaleString("en") + " of " + several(visible.length, "turn") : "no such turn";
  draw(now);
  const top = byId("step").getBoundingClientRect().top;
  if (top < 0 && !focused) window.scrollBy(0, top - document.querySelector(".bar").offsetHeight - 12);
  history.replaceState(null, "", "#turn=" + steps[now].at);
};
const walk = by => {
  const place = visible.indexOf(now) + by;
  if (place >= 0 && place < visible.length) show(visible[place]);
};
const filter = () => {
  const kept = FILTERS[byId("only").value], wanted = flat(byId("find").value.toLowerCase()).split(" ").filter(Boolean);
  visible = [];
  rows.forEach((row, number) => {
    const here = kept(found[number]) && wanted.every(word => texts[number].includes(word));
    row.hidden = !here;
    if (here) visible.push(number);
  });
  for (const group of groups) group.whole.hidden = [...group.list.children].every(row => row.hidden);
  byId("timeline").hidden = !visible.length;
  byId("slider").max = Math.max(0, visible.length - 1);
  byId("slider").disabled = visible.length < 2;
  if (visible.includes(now) || !visible.length) show(now);
  else show(visible.find(number => number > now) ?? visible[visible.length - 1]);
};
const open = at => {
  const number = steps.findIndex(step => step.at === at);
  if (number < 0) return;
  if (!visible.includes(number)) {
    byId("only").value = "all";
    byId("find").value = "";
    filter();
  }
  show(number);
};
const asked = () => Number((/^#turn=(\d{1,9})$/.exec(location.hash) || [])[1]); // NaN where it names none
byId("back").addEventListener("click", () => walk(-1));
byId("next").addEventListener("click", () => walk(1));
byId("slider").addEventListener("input", event => visible.length && show(visible[event.target.value]));
byId("only").addEventListener("change", filter);
byId("find").addEventListener("input", filter);
byId("timeline").addEventListener("click", event => {
  const button = event.target.closest("button");
  if (button) show(Number(button.dataset.number));
});
byId("step").addEventListener("click", event => {
  const button = event.target.closest("button.visit");
  if (!button) return;
  open(Number(button.dataset.at));
  byId("step").focus();
});
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.target.closest("input, select")) return;
  const listed = byId("timeline").contains(event.target);
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: listed ? -1 : 0, ArrowDown: listed ? 1 : 0 }[event.key];
  if (by) walk(by);
  else if (listed && visible.length && event.key === "Home") show(visible[0]);
  else if (listed && visible.length && event.key === "End") show(visible[visible.length - 1]);
  else return;
  event.preventDefault();
});
window.addEventListener("hashchange", () => asked() === steps[now].at || open(asked()));
const wanted = asked();
filter();
open(wanted);
