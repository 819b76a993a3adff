// VS Code as somebody sees it who looks at the screen, types and clicks: no API of the editor, only its pages.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--force-color-profile=srgb",
];
// Generous, since a busy machine is no fault of the server's; what is right passes at once.
const PATIENCE = 60_000;
const SQUIGGLES = ".squiggly-error, .squiggly-warning, .squiggly-info";

export class Workbench {
  static async open(url, executablePath) {
    const browser = await chromium.launch({ executablePath, args: QUIET });
    const page = await browser.newPage({ viewport: { width: 1280, height: 840 } });
    page.setDefaultTimeout(PATIENCE);
    await page.goto(url);
    await page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: PATIENCE });
    return new Workbench(browser, page);
  }

  constructor(browser, page) {
    this.browser = browser;
    this.page = page;
  }

  close() {
    return this.browser.close();
  }

  screenshot(path) {
    return this.page.screenshot({ path });
  }

  async openFile(name) {
    await this.page.locator(".explorer-folders-view").getByRole("treeitem", { name }).dblclick();
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
  }

  /** Runs a command of the palette by its title. */
  async command(title) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
  }

  /** Waits until that many places are underlined in what can be seen. */
  async squiggles(count) {
    await this.page.waitForFunction(
      ([selector, expected]) => {
        const shown = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
        return shown.length === expected;
      },
      [SQUIGGLES, count],
    );
  }

  /** The text of the rows in Problems, once `ready` holds of them. */
  async problems(ready) {
    const rows = this.page.locator(".markers-panel .monaco-list-row");
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const texts = (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
      if (ready(texts)) {
        return texts;
      }
      if (Date.now() > deadline) {
        throw new Error(`Problems shows ${JSON.stringify(texts)}`);
      }
      await this.page.waitForTimeout(200);
    }
  }

  async showProblems() {
    if (!(await this.page.locator(".markers-panel").isVisible())) {
      await this.page.keyboard.press("Control+Shift+M");
      await this.page.locator(".markers-panel").waitFor();
    }
  }

  /** Moves the mouse over a text in the editor, and gives what appears. */
  async hover(text, context = text) {
    const row = this.page.locator(".monaco-hover:not(.hidden) .hover-row").first();
    await this.insist(async (patience) => {
      const box = await this.textBox(text, context);
      await this.page.mouse.move(box.x + 2, box.y + 2);
      await this.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
      await row.waitFor({ timeout: patience });
    });
    // A hover is filled as its providers answer.
    await this.page.waitForTimeout(1500);
    return (await this.page.locator(".monaco-hover:not(.hidden) .monaco-hover-content").allInnerTexts()).join("\n");
  }

  /** Does again what shows something: the editor takes it back, or never shows it, when it draws at that moment. */
  async insist(show) {
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      try {
        return await show(4_000);
      } catch (error) {
        if (Date.now() > deadline) {
          throw error;
        }
      }
      await this.page.mouse.move(4, 4);
    }
  }

  async dismissHover() {
    await this.page.mouse.move(4, 4);
    await this.page.keyboard.press("Escape");
  }

  /** Puts the cursor on a text, and gives the titles that the menu of quick fixes offers. */
  async quickFixes(text, context = text) {
    const box = await this.textBox(text, context);
    await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    return this.offered();
  }

  /** Goes to the first of these in Problems, and gives the titles that the menu of quick fixes offers. */
  async quickFixesOfProblem(text) {
    await this.page.locator(".markers-panel .monaco-list-row", { hasText: text }).first().dblclick();
    await this.page.locator(".monaco-editor.focused").waitFor();
    return this.offered();
  }

  offered() {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    return this.insist(async (patience) => {
      await this.page.keyboard.press("Control+.");
      await rows.first().waitFor({ timeout: patience });
      return rows.allInnerTexts();
    });
  }

  async chooseQuickFix(title) {
    await this.page.locator(".action-widget .monaco-list-row.action", { hasText: title }).first().click();
    await this.page.locator(".action-widget .monaco-list").waitFor({ state: "hidden" });
  }

  async save() {
    await this.page.locator(".tab.active.dirty").waitFor();
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.active.dirty").waitFor({ state: "detached" });
  }

  /** Waits until the text, where it stands in `context`, is underlined from its first character to its last. */
  async underlined(text, context = text) {
    const close = (left, right) => Math.abs(left - right) < 2;
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const wanted = await this.textBox(text, context);
      const boxes = await this.underlines();
      if (boxes.some((box) => close(box.x, wanted.x) && close(box.width, wanted.width) && Math.abs(box.y - wanted.y) < 8)) {
        return;
      }
      // Lenses that come late push the lines down, between one look and the next.
      if (Date.now() > deadline) {
        assert.fail(`${JSON.stringify(text)} at ${JSON.stringify(wanted)} is not underlined, but ${JSON.stringify(boxes)}`);
      }
    }
  }

  underlines() {
    return this.page.locator(SQUIGGLES).evaluateAll((all) =>
      all.map((one) => {
        const { x, y, width } = one.getBoundingClientRect();
        return { x, y, width };
      }),
    );
  }

  async typeAtEnd(text) {
    const box = await this.page.locator(".editor-instance .monaco-editor").first().boundingBox();
    await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await this.page.keyboard.press("Control+End");
    await this.page.keyboard.type(text, { delay: 5 });
  }

  /** Waits until the item in the status bar shows this and nothing else. */
  async status(text) {
    await this.page.locator(".statusbar-item", { hasText: new RegExp(`^\\s*${text}\\s*$`) }).waitFor();
  }

  statusTooltip() {
    return this.insist(async (patience) => {
      await this.page.locator(".statusbar-item", { hasText: "trainlint" }).hover();
      return this.page.locator(".monaco-hover:visible", { hasText: "trainlint" }).first().innerText({ timeout: patience });
    });
  }

  /** Where the text is on the screen that stands in `context`; scrolls down to it if need be. */
  async textBox(text, context = text) {
    for (let tries = 0; tries < 12; tries += 1) {
      const box = await this.shownTextBox(text, context);
      if (box !== null) {
        return this.settled(box, text, context);
      }
      await this.page.locator(".monaco-editor .view-lines:visible").first().hover();
      await this.page.mouse.wheel(0, 120);
      await this.page.waitForTimeout(100);
    }
    throw new Error(`the editor shows no ${JSON.stringify(context)}`);
  }

  /** Where it is when it has stopped moving: cells of a notebook find their places one after another. */
  async settled(first, text, context) {
    let before = first;
    for (;;) {
      await this.page.waitForTimeout(300);
      const box = await this.shownTextBox(text, context);
      if (box !== null && box.x === before.x && box.y === before.y) {
        return box;
      }
      before = box ?? before;
    }
  }

  shownTextBox(text, context) {
    const offset = context.indexOf(text);
    return this.page.evaluate(([wanted, before, length]) => {
      const lines = [...document.querySelectorAll(".monaco-editor .view-line")].filter((line) => line.checkVisibility());
      for (const line of lines) {
        const plain = line.textContent.replaceAll("\u00a0", " ");
        const start = plain.indexOf(wanted);
        if (start >= 0) {
          const box = boxOf(line, start + before, start + before + length);
          // Lines are drawn a little past the edges of what can be seen of the editor.
          const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
          return line.closest(".monaco-editor").contains(hit) ? box : null;
        }
      }
      return null;

      function boxOf(line, start, end) {
        const range = document.createRange();
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        let seen = 0;
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          const next = seen + node.length;
          if (start >= seen && start < next) {
            range.setStart(node, start - seen);
          }
          if (end > seen && end <= next) {
            range.setEnd(node, end - seen);
          }
          seen = next;
        }
        const { x, y, width, height } = range.getBoundingClientRect();
        return { x, y, width, height };
      }
    }, [context, offset, text.length]);
  }
}
