// One file of each entry, into the folder that is the argument. Prints which packages went into which file, as JSON.
// Knows esbuild and what has to be different in xterm.js; knows nothing of licences and checksums.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { build } from "esbuild";

const ENTRIES = ["preact.js", "xterm.js", "@xterm/xterm/css/xterm.css"];

// A new version of xterm.js in which this is not found exactly so often is refused.
const REWRITTEN = [
  // The page's Content-Security-Policy allows no inline style, and xterm.js writes <style> elements and style attributes.
  // The same through the object model is allowed.
  { from: /[\w.]+\.createElement\("style"\)/g, to: "sheetElement(document)", times: 3 },
  { from: /(\w+)\.setAttribute\("style",(`[^`]*`(?:`[^`]*`|[^`)])*)\)/g, to: "$1.style.cssText=$2", times: 1 },
  // Printing. xterm.js forgets with each sequence what stands before it; our widths (widths.js) look.
  {
    from: /=this\._parser\.precedingJoinState(;for\(let (\w)=(\w);\2<\w;\+\+\2\)\{if\(\w=(\w)\[\2\],)/g,
    to: "=this._unicodeService._activeProvider.before(this._activeBuffer,$4[$3])$1",
    times: 1,
  },
  // A character that comes in two parts is lost where the first part ends in the byte 0x80, as a joiner's may.
  {
    from: /\((\w)=this\.interim\[(\+\+\w)\]&63\)&&(\w<4;\))(\w)<<=6,\4\|=\1;/g,
    to: "($1=this.interim[$2])&&$3$4<<=6,$4|=$1&63;",
    times: 1,
  },
  // What has no width and joins nothing is left out; xterm.js gives it a cell.
  {
    from: /(this\._unicodeService\.charProperties\(\w,\w\);(\w)=\w+\.extractWidth\(\w\);)(let \w=\w+\.extractShouldJoin)/g,
    to: "$1if(!$2)continue;$3",
    times: 1,
  },
  // A cell may become narrower (with U+FE0E): the cursor goes back, and what was its second half is empty.
  {
    from: /(\w)\.addCodepointToCell\(this\._activeBuffer\.x-\w,\w,(\w)\);(?=for\(let \w=\2-(\w);)/g,
    to: "$&if($2<$3)$1.setCellFromCodepoint(--this._activeBuffer.x,0,1,this._curAttrData);",
    times: 1,
  },
];

const objectModel = {
  name: "styles through the object model",
  setup({ onLoad }) {
    onLoad({ filter: /@xterm\/xterm\/lib\/xterm\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const { from, to, times } of REWRITTEN) {
        const found = contents.match(from)?.length ?? 0;
        if (found !== times) throw new Error(`${from} is there ${found} times, not ${times}: look at what xterm.js does now`);
        contents = contents.replace(from, to);
      }
      return { contents: `import { sheetElement } from "${import.meta.dirname}/sheet.js";\n${contents}`, loader: "js" };
    });
  },
};

const [outdir] = process.argv.slice(2);
const made = {};
for (const entry of ENTRIES) {
  const { metafile } = await build({
    absWorkingDir: import.meta.dirname,
    entryPoints: [entry],
    outfile: `${outdir}/${basename(entry)}`,
    bundle: true,
    format: "esm",
    legalComments: "none", // all of them are in LICENSES.txt
    logLevel: "warning",
    metafile: true,
    minify: true,
    plugins: [objectModel],
    target: "es2022",
  });
  const packages = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  made[basename(entry)] = [...new Set(packages.filter(Boolean))].sort();
}
console.log(JSON.stringify(made));
