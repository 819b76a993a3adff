// What somebody sees who has installed the extension and configured nothing. Each check fails when the server does
// not do its part; they build on each other, since they are one sitting at one editor.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bundled, sit } from "./sitting.mjs";
import { NOTEBOOK, RUNNABLE, SCRIPT, WIDE } from "./workspace.mjs";

let sitting;
let workbench;

before(async () => {
  const files = { "train.py": SCRIPT, "again.py": SCRIPT, "wide.py": WIDE, "entropy.py": RUNNABLE, "fit.ipynb": NOTEBOOK };
  sitting = await sit({ name: "newcomer", files, vsix: bundled });
  workbench = sitting.workbench;
});

after(() => sitting?.leave());

test("findings are underlined where they are", async () => {
  await workbench.openFile("train.py");
  await workbench.squiggles(3);
  for (const text of ["criterion(model(x), y)", "optimizer.step()", "total +="]) {
    await workbench.underlined(text.replace(" +=", ""), text);
  }
  await sitting.screenshot("1-squiggles");
});

test("the hover says why", async () => {
  const text = await workbench.hover("optimizer.step()");
  assert.match(text, /gradients accumulate across steps: this step re-applies those of earlier batches/);
  assert.match(text, /no path through the loop zeroes the gradients of optimizer/);
  await sitting.screenshot("2-hover");
  await workbench.dismissHover();
});

test("the status item counts them, and says which version found them", async () => {
  await workbench.status("trainlint 3");
  assert.match(await workbench.statusTooltip(), /trainlint \d+\.\d+\.\d+ \(this extension\)\s+2 errors and 1 warning/);
  await sitting.screenshot("3-status");
  await workbench.dismissHover();
});

test("Problems lists each once, with its rule and what takes part in it", async () => {
  await workbench.showProblems();
  const rows = await workbench.problems((texts) => texts[0]?.startsWith("train.py") && texts.length >= 6);
  const list = rows.join("\n");
  for (const rule of ["softmax-before-cross-entropy", "missing-zero-grad", "retained-graph"]) {
    assert.equal(list.split(`trainlint ${rule}`).length, 2, `${rule} once in:\n${list}`);
  }
  assert.match(list, /gradients accumulate across steps: this step re-applies those of earlier batches/);
  assert.match(list, /adds to gradients that were never zeroed/);
  await sitting.screenshot("4-problems");
});

test("one click fixes it", async () => {
  const offered = await workbench.quickFixes("optimizer.step()");
  await sitting.screenshot("5-quick-fix");
  assert.match(offered[0], /insert .?optimizer\.zero_grad\(\).? before the backward pass/i);
  await workbench.chooseQuickFix("optimizer.zero_grad()");
  await workbench.status("trainlint 2");
  await workbench.problems((texts) => texts[0] === "train.py 2" && !texts.join().includes("missing-zero-grad"));
  await workbench.save();
  const expected = SCRIPT.replace("        loss.backward()\n", "        optimizer.zero_grad()\n        loss.backward()\n");
  assert.equal(sitting.onDisk("train.py"), expected);
  await sitting.screenshot("6-fixed");
});

test("another click ignores one, and says so in the file", async () => {
  await workbench.quickFixesOfProblem("retained-graph");
  await workbench.chooseQuickFix(/ignore/i);
  await workbench.status("trainlint 1");
  await workbench.problems((texts) => texts[0] === "train.py 1" && !texts.join().includes("retained-graph"));
  await workbench.save();
  assert.match(sitting.onDisk("train.py"), /^ {8}total \+= loss {2}# trainlint: ignore\[retained-graph\]$/m);
  await sitting.screenshot("7-ignored");
});

test("the name of a rule opens its page", async () => {
  await workbench.page.locator(".markers-panel a", { hasText: "softmax-before-cross-entropy" }).first().click();
  const page = workbench.page.frameLocator("iframe.webview").frameLocator("#active-frame");
  await page.getByRole("heading", { name: "softmax-before-cross-entropy" }).waitFor();
  await page.getByRole("heading", { name: "Use instead" }).waitFor();
  await sitting.screenshot("8-page");
  await workbench.openFile("train.py");
});

test("what is typed is checked before it is saved", async () => {
  const faulty = "for x, y in loader: criterion(model(x), y).backward(); optimizer.step()";
  await workbench.typeAtEnd(faulty);
  await workbench.problems((texts) => texts[0] === "train.py 3" && texts.join().includes("missing-zero-grad"));
  await workbench.command("File: Revert File");
  await workbench.problems((texts) => texts[0] === "train.py 1");
});

test("columns are right behind characters of several bytes", async () => {
  await workbench.openFile("wide.py");
  await workbench.squiggles(1);
  await workbench.underlined("optimizer.step()");
});

test("a command fixes everything that is safe, and a restarted server knows of it", async () => {
  await workbench.openFile("again.py");
  await workbench.status("trainlint 3");
  await workbench.command("trainlint: Fix All Safely Fixable Findings");
  await workbench.status("trainlint 1");
  await workbench.save();
  const fixed = SCRIPT.replace("        loss.backward()\n", "        optimizer.zero_grad()\n        loss.backward()\n");
  assert.equal(sitting.onDisk("again.py"), fixed.replace("total += loss", "total += loss.detach()"));
  await workbench.command("trainlint: Restart Server");
  await workbench.problems((texts) => texts[0] === "again.py 1");
});

test("a lens runs what a finding is about, and shows the verdict", async () => {
  await workbench.openFile("entropy.py");
  await workbench.squiggles(1);
  await workbench.page.locator(".codelens-decoration a", { hasText: "Confirm log-of-softmax by running it" }).click();
  await workbench.page.locator(".notification-toast", { hasText: /log-of-softmax in line 8 is confirmed/ }).waitFor();
  await workbench.page.locator(".codelens-decoration a", { hasText: "log-of-softmax: confirmed" }).waitFor();
  assert.match(await workbench.hover("torch.log(p)"), /witness: model\(x\) = \[/);
  await sitting.screenshot("9-confirmed");
  await workbench.dismissHover();
});

test("a notebook is read as one script, and its cell is underlined", async () => {
  await workbench.openFile("fit.ipynb");
  await workbench.textBox("optimizer.step()");
  await workbench.squiggles(1);
  await workbench.underlined("optimizer.step()");
  await workbench.problems((texts) => texts.includes("fit.ipynb 1"));
  await workbench.status("trainlint 1");
  await sitting.screenshot("10-notebook");
});

test("a fix in a notebook changes its cell and nothing else", async () => {
  const offered = await workbench.quickFixesOfProblem("missing-zero-grad");
  assert.match(offered[0], /optimizer\.zero_grad\(\)/);
  await workbench.page.keyboard.press("Enter");
  await workbench.status("trainlint");
  await workbench.squiggles(0);
  await workbench.save();
  const before = '    "    loss.backward()\\n",\n';
  assert.equal(sitting.onDisk("fit.ipynb"), NOTEBOOK.replace(before, `    "    optimizer.zero_grad()\\n",\n${before}`));
});
