import { lstat, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { deleteCodeIndex, openCodeIndex } from "../../codeindex/index.ts";
import { describeError, errnoOf } from "../../core/errno.ts";
import { isWithin, realOrGiven } from "../../core/places.ts";
import { CommandError } from "../engine/call.ts";

/** The demo's sample projects, one per session. Each is deleted with its session. */
export function createSampleProjects(folder: string, warn: (line: string) => void) {
	return {
		folder,
		async make() {
			const project = await makeSampleProject(folder).catch((error: unknown) => {
				const reason = errnoOf(error) ?? "see the server's standard error";
				warn(`the server cannot write a sample project: ${describeError(error)}`);
				throw new CommandError(
					"failed",
					`The server cannot write a sample project (${reason}): free space on its disk, or name a folder with cwd`,
					{ cause: error },
				);
			});
			await index(project).catch((error: unknown) => {
				warn(`the server cannot index a sample project: ${describeError(error)}`);
			});
			return project;
		},
		/** Deletes projects in `left` (default: all) that are not in `inUse`. Follows no links. */
		async sweep({ left, inUse }: { left?: readonly string[]; inUse: readonly string[] }) {
			try {
				if (!(await isFolder(folder))) return;
				const real = await realpath(folder);
				const used = new Set(projectsOf(inUse, real));
				const candidates = left ? projectsOf(left, real) : await readdir(real);
				for (const name of new Set(candidates)) {
					const project = join(real, name);
					if (!SAMPLE_NAME.test(name) || used.has(name) || !(await isFolder(project))) continue;
					await rm(project, { recursive: true, force: true, maxRetries: 3 });
					await deleteCodeIndex(project);
				}
			} catch (error) {
				warn(`the server cannot delete a sample project: ${describeError(error)}`);
			}
		},
	};
}

/** Returns false for a link. */
async function isFolder(path: string): Promise<boolean> {
	const stats = await lstat(path).catch(() => undefined);
	return stats?.isDirectory() === true;
}

function projectsOf(folders: readonly string[], parent: string): string[] {
	return folders
		.map(realOrGiven)
		.filter((path) => isWithin(parent, path))
		.map((path) => relative(parent, path).split(sep)[0] as string);
}

/** The project is ours, so indexing needs no consent. */
async function index(project: string): Promise<void> {
	const code = openCodeIndex({ root: project });
	try {
		await code.build();
	} finally {
		await code.close();
	}
}

export async function makeSampleProject(parent: string): Promise<string> {
	await mkdir(parent, { recursive: true, mode: 0o700 });
	const root = await realpath(await mkdtemp(join(parent, PREFIX)));
	try {
		for (const [path, content] of Object.entries(sampleFiles())) {
			await mkdir(dirname(join(root, path)), { recursive: true });
			await writeFile(join(root, path), content);
		}
		return root;
	} catch (error) {
		await rm(root, { recursive: true, force: true }).catch(() => {}); // never leave half a project
		throw error;
	}
}

const PREFIX = "shop-";
const SAMPLE_NAME = new RegExp(`^${PREFIX}[A-Za-z0-9]{6}$`);

/** A small shop. Its logs are so long that reading them triggers pruning. */
function sampleFiles(): Record<string, string | Buffer> {
	return {
		"package.json": `${JSON.stringify({ name: "sample-shop", type: "module" }, null, "\t")}\n`,
		"README.md":
			"# Sample shop\n\nA small project that pi-strata made for its demo. Delete it whenever you like.\n",
		...SOURCES,
		...Object.fromEntries(
			Array.from({ length: 6 }, (_, day) => [`logs/day-${day + 1}.log`, logOf(day + 1)]),
		),
		"docs/handbook.pdf": samplePdf(Array.from({ length: 12 }, (_, page) => handbookPage(page + 1))),
	};
}

const SOURCES = {
	"src/money.ts": `/** An amount in cents. */
export type Cents = number;

export function add(a: Cents, b: Cents): Cents {
	return a + b;
}

export function format(amount: Cents): string {
	return (amount / 100).toFixed(2);
}
`,
	"src/catalogue.ts": `import type { Cents } from "./money.ts";

export interface Article {
	name: string;
	price: Cents;
}

const articles: Article[] = [
	{ name: "tea", price: 450 },
	{ name: "coffee", price: 790 },
	{ name: "cup", price: 1200 },
	{ name: "kettle", price: 3900 },
];

export function findArticle(name: string): Article | undefined {
	return articles.find((article) => article.name === name);
}
`,
	"src/cart.ts": `import { type Article, findArticle } from "./catalogue.ts";
import { add, type Cents } from "./money.ts";

export interface Cart {
	articles: Article[];
}

export function emptyCart(): Cart {
	return { articles: [] };
}

export function addToCart(cart: Cart, name: string): Cart {
	const article = findArticle(name);
	if (!article) throw new Error(\`There is no article "\${name}"\`);
	return { articles: [...cart.articles, article] };
}

export function totalOf(cart: Cart): Cents {
	return cart.articles.map(({ price }) => price).reduce(add, 0);
}
`,
	"src/discount.ts": `import { type Cart, totalOf } from "./cart.ts";
import type { Cents } from "./money.ts";

/** From this total on the customer gets a discount. */
export const DISCOUNT_FROM: Cents = 5000;

/** The part of the total that is taken off. */
export const DISCOUNT_RATE = 0.1;

/** What a customer can be: members get more. */
export type Customer = "guest" | "member";

const memberRate: Record<Customer, number> = {
	guest: 1,
	member: 1.5,
};

/** The discount on a cart, in cents. */
export function discountOf(cart: Cart, customer: Customer = "guest"): Cents {
	const total = totalOf(cart);
	if (!hasDiscount(total)) return 0;
	return Math.round(total * DISCOUNT_RATE * memberRate[customer]);
}

/** Whether a total is large enough. */
export function hasDiscount(total: Cents): boolean {
	return total > DISCOUNT_FROM;
}

/** What is missing to a discount, in cents; 0 when nothing is. */
export function missingToDiscount(cart: Cart): Cents {
	const total = totalOf(cart);
	return hasDiscount(total) ? 0 : DISCOUNT_FROM - total;
}

/** A line for the receipt; empty without a discount. */
export function discountLine(cart: Cart, customer: Customer = "guest"): string {
	const discount = discountOf(cart, customer);
	return discount > 0 ? \`discount: -\${(discount / 100).toFixed(2)}\` : "";
}
`,
	"src/order.ts": `import { type Cart, totalOf } from "./cart.ts";
import { discountOf } from "./discount.ts";
import { type Cents, format } from "./money.ts";

export interface Order {
	cart: Cart;
	total: Cents;
}

export function placeOrder(cart: Cart): Order {
	if (cart.articles.length === 0) throw new Error("The cart is empty");
	return { cart, total: totalOf(cart) - discountOf(cart) };
}

export function receipt(order: Order): string {
	const lines = order.cart.articles.map(({ name, price }) => \`\${name}: \${format(price)}\`);
	return [...lines, \`total: \${format(order.total)}\`].join("\\n");
}
`,
	"src/main.ts": `import { addToCart, emptyCart } from "./cart.ts";
import { placeOrder, receipt } from "./order.ts";

const cart = ["tea", "kettle", "cup"].reduce(addToCart, emptyCart());
console.log(receipt(placeOrder(cart)));
`,
};

function logOf(day: number): string {
	const lines = Array.from({ length: 320 }, (_, index) => {
		const minute = String(index % 60).padStart(2, "0");
		const hour = String(4 + Math.floor(index / 20)).padStart(2, "0");
		const order = day * 1000 + index;
		const slow = index % 37 === 0 ? " slow=true" : "";
		return `2026-03-${String(day).padStart(2, "0")}T${hour}:${minute}:00Z order=${order} articles=${(index % 4) + 1} total=${450 * ((index % 9) + 1)}${slow}`;
	});
	return `${lines.join("\n")}\n`;
}

function handbookPage(page: number): string[] {
	const rules = [
		"Orders above 50.00 get ten percent off.",
		"A cart without articles cannot be ordered.",
		"Prices are kept in cents, and rounded once, at the end.",
		"Receipts list every article, and the total last.",
	];
	const rule = (at: number) => `${page}.${at + 1} ${rules[(page + at) % rules.length]}`;
	const lines = Array.from({ length: 36 }, (_, at) => rule(at));
	return [`Handbook of the sample shop, page ${page}`, "", ...lines];
}

function samplePdf(pages: readonly (readonly string[])[]): Buffer {
	const objects: string[] = [];
	const add = (body: string) => objects.push(body); // returns the object's number
	const font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
	const tree = objects.length + pages.length * 2 + 1;
	const kids = pages.map((lines) => {
		const text = pageText(lines);
		const content = add(`<< /Length ${text.length} >>\nstream\n${text}\nendstream`);
		const resources = `<< /Font << /F1 ${font} 0 R >> >>`;
		return add(
			`<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 612 792] /Resources ${resources} /Contents ${content} 0 R >>`,
		);
	});
	const list = kids.map((kid) => `${kid} 0 R`).join(" ");
	add(`<< /Type /Pages /Count ${kids.length} /Kids [${list}] >>`);
	const catalog = add(`<< /Type /Catalog /Pages ${tree} 0 R >>`);
	return assembled(objects, catalog);
}

function assembled(objects: readonly string[], root: number): Buffer {
	let file = "%PDF-1.4\n";
	const starts = objects.map((body, index) => {
		const start = file.length;
		file += `${index + 1} 0 obj\n${body}\nendobj\n`;
		return start;
	});
	const table = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
	const size = objects.length + 1;
	const trailer = `trailer\n<< /Size ${size} /Root ${root} 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
	return Buffer.from(`${file}xref\n0 ${size}\n0000000000 65535 f \n${table}${trailer}`, "latin1");
}

function pageText(lines: readonly string[]): string {
	const shown = lines.map((line) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`).join("\n");
	return `BT\n/F1 11 Tf\n14 TL\n72 720 Td\n${shown}\nET`;
}
