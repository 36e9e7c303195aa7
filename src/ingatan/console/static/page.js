// The page works without this file. It adds local times, a countdown, and sections that renew themselves.
"use strict";
(() => {
  const SECTIONS = ["conversations", "memories", "held", "refused"];
  const RETRY_SECONDS = 3;
  const RETRIES_MAX = 20;
  const announcement = document.getElementById("announcement");
  let retries = 0;
  let renewing = false;
  let notBefore = 0;

  function localTimes(root) {
    const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.getTime())) time.textContent = format.format(at);
    }
    for (const zone of document.querySelectorAll(".zone")) zone.hidden = true;
  }

  function inUse(section) {
    if (section.contains(document.activeElement) || section.querySelector("details[open]")) return true;
    const fields = [...section.querySelectorAll("textarea, input[type=number]")];
    return fields.some((field) => field.value !== field.defaultValue);
  }

  function counts(root) {
    return ["memories", "refused"].map((id) => root.getElementById(id).dataset.count);
  }

  async function renew() {
    renewing = true;
    const shown = document.querySelector("#say input[name=shown]");
    const address = shown ? `/?conversation=${encodeURIComponent(shown.value)}` : "/";
    try {
      const answer = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error("not renewed");
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const before = counts(document).join();
      for (const id of [...SECTIONS, "pending"]) {
        const old = document.getElementById(id);
        const next = fresh.getElementById(id);
        if (old && next && !inUse(old)) {
          old.replaceWith(next);
          localTimes(next);
        }
      }
      const [memories, refused] = counts(document);
      if (before !== [memories, refused].join()) {
        announcement.textContent = announcement.dataset.updated
          .replace("{memories}", memories)
          .replace("{refused}", refused);
      }
    } catch {
      // The next look tries again; without it the page stays as it was.
    }
    retries += 1;
    notBefore = Date.now() + RETRY_SECONDS * 1000;
    renewing = false;
  }

  function tick() {
    const pending = document.querySelector("[data-due]");
    if (!pending) return;
    const left = Math.ceil((new Date(pending.dataset.due).getTime() - Date.now()) / 1000);
    if (left > 0) {
      retries = 0;
      const minutes = Math.floor(left / 60);
      pending.textContent = `${pending.dataset.counting} ${minutes}:${String(left % 60).padStart(2, "0")}`;
      return;
    }
    pending.textContent = pending.dataset.now;
    if (!renewing && retries < RETRIES_MAX && Date.now() >= notBefore) renew();
  }

  // An act answered with a page of its own: loading it again shall load the first page, not repeat the act.
  if (location.pathname !== "/") {
    const shown = document.querySelector("#say input[name=shown]");
    history.replaceState(null, "", shown ? `/?conversation=${encodeURIComponent(shown.value)}` : "/");
  }
  const told = document.querySelector("main [role=alert], #receipt, #packet");
  if (told) told.scrollIntoView({ block: "nearest" });

  localTimes(document);
  tick();
  setInterval(tick, 1000);
})();
