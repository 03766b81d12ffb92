import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { samplePdf } from "./sample-pdf.ts";

/** Makes a small project to try things on, in a new folder below the given one, and returns it. */
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
		await rm(root, { recursive: true, force: true }).catch(() => {}); // half a project is none
		throw error;
	}
}

const PREFIX = "shop-";

/** Whether a folder of this name was made by {@link makeSampleProject}. */
export function isSampleName(name: string): boolean {
	return name.startsWith(PREFIX) && /^[A-Za-z0-9]{6}$/.test(name.slice(PREFIX.length));
}

/** The files by path. A shop: a cart, prices, orders; and logs that are long on purpose. */
function sampleFiles(): Record<string, string | Buffer> {
	return {
		"package.json": `${JSON.stringify({ name: "sample-shop", type: "module" }, null, "\t")}\n`,
		"README.md":
			"# Sample shop\n\nA small project that pi-strata made for its demo. Delete it whenever you like.\n",
		"src/money.ts": MONEY,
		"src/catalogue.ts": CATALOGUE,
		"src/cart.ts": CART,
		"src/discount.ts": DISCOUNT,
		"src/order.ts": ORDER,
		"src/main.ts": MAIN,
		...Object.fromEntries(
			Array.from({ length: 6 }, (_, day) => [`logs/day-${day + 1}.log`, logOf(day + 1)]),
		),
		"docs/handbook.pdf": samplePdf(Array.from({ length: 12 }, (_, page) => handbookPage(page + 1))),
	};
}

const MONEY = `/** An amount in cents. */
export type Cents = number;

export function add(a: Cents, b: Cents): Cents {
	return a + b;
}

export function format(amount: Cents): string {
	return (amount / 100).toFixed(2);
}
`;

const CATALOGUE = `import type { Cents } from "./money.ts";

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
`;

const CART = `import { type Article, findArticle } from "./catalogue.ts";
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
`;

const DISCOUNT = `import { type Cart, totalOf } from "./cart.ts";
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
`;

const ORDER = `import { type Cart, totalOf } from "./cart.ts";
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
`;

const MAIN = `import { addToCart, emptyCart } from "./cart.ts";
import { placeOrder, receipt } from "./order.ts";

const cart = ["tea", "kettle", "cup"].reduce(addToCart, emptyCart());
console.log(receipt(placeOrder(cart)));
`;

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
	const lines = Array.from({ length: 36 }, (_, index) => {
		const rule = rules[(page + index) % rules.length];
		return `${page}.${index + 1} ${rule}`;
	});
	return [`Handbook of the sample shop, page ${page}`, "", ...lines];
}
