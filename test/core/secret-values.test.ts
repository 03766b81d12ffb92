import { describe, expect, test } from "vitest";
import {
	createValueFinder,
	secretValuesOf,
	secretVariables,
} from "../../src/core/secret-values.ts";
import { fc } from "../support/property.ts";

const holds = (path: string, content: string, output: string) =>
	createValueFinder(secretValuesOf(path, content))(output);

describe("values of a file of variables", () => {
	const env = [
		"# the shop",
		"API_KEY=sk-live-4f9a",
		'export QUOTED="hunter2 and more"',
		"COMMENTED=abcdef123 # for tests",
		"#OLD_KEY=rotated-away",
		"DATABASE_URL=postgres://shop:s3cr3tpw@db.example.com/shop",
		"NODE_ENV=production",
		"URL=http://localhost:3000",
		"SHORT=abc",
		"LINES='first line of a key",
		"second line of a key'",
	].join("\r\n");

	test.each([
		["the file itself", env],
		["a value in other text", "connecting with sk-live-4f9a …"],
		["a quoted value without its quotes", "x=hunter2 and more;"],
		["a value before a comment", "abcdef123"],
		["a value that is commented out", "rotated-away"],
		["the password in an address", "user shop, password s3cr3tpw"],
		["a later line of a value", "  second line of a key'"],
	])("are found in %s", (_, output) => {
		expect(holds("/app/.env.local", env, output)).toBe(true);
		expect(holds("/app/shop.env", env, output)).toBe(true);
	});

	test.each([
		["names without values", "API_KEY QUOTED DATABASE_URL"],
		["settings that every project has", "NODE_ENV=production on http://localhost:3000"],
		["short values", "SHORT=abc"],
		["a part of a value", "sk-live-4f9"],
		["nothing", ""],
	])("are not found in %s", (_, output) => {
		expect(holds("/app/.env", env, output)).toBe(false);
	});
});

test("settings in words, numbers and addresses are no secrets of a project, other values are", () => {
	const env = [
		"APP_NAME=my-shop",
		"PORT=300000",
		"DB_DATABASE=inventory",
		"AWS_REGION=eu-central-1",
		"API_URL=https://api.example.com/v1",
		"TOKEN_FROM=$OTHER_TOKEN",
		"DB_PASS=swordfish",
		"APP_KEY=swordfishes",
		"HOOK_URL=https://hooks.example.com/services/T0A1B2C3D/xyz",
		"REDIS_HOST=x7Gq2pLm",
		"OTHER=plain-words",
	].join("\n");
	const free = "my-shop 300000 inventory eu-central-1 https://api.example.com/v1 $OTHER_TOKEN";
	expect(holds(".env", env, free)).toBe(false);
	const secret = ["swordfish.", "swordfishes", "T0A1B2C3D/xyz", "x7Gq2pLm", "plain-words"];
	const shown = (text: string) => holds(".env", env, `https://hooks.example.com/services/${text}`);
	expect(secret.map(shown)).toEqual(secret.map(() => true));
});

test("a key on one line of variables is found where a program writes it out in lines", () => {
	const env =
		'KEY="-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0\\nAAAABBBB1234==\\n-----END PRIVATE KEY-----\\n"';
	expect(holds(".env", env, "…\nMIIEvQIBADANBgkqhkiG9w0\n")).toBe(true);
	expect(holds(".env", env, "AAAABBBB1234==")).toBe(true);
	expect(holds(".env", env, "-----BEGIN PRIVATE KEY-----")).toBe(false);
	const lines = 'KEY="-----BEGIN PRIVATE KEY-----\nAAAABBBB1234==\n-----END PRIVATE KEY-----"';
	expect(holds(".env", lines, "AAAABBBB1234==")).toBe(true);
	expect(holds(".env", 'A="two \\"quoted\\" words"', 'two "quoted" words')).toBe(true);
});

test("the one word that a file holds is found, however short", () => {
	expect(holds("password.txt", "hunter2\n", "logged in with hunter2")).toBe(true);
	expect(holds(".vault-token", "s.abc\n", "s.abc")).toBe(false);
});

describe("lines and tokens of other excluded files", () => {
	const account = JSON.stringify(
		{
			type: "service_account",
			private_key_id: "0a1b2c3d4e5f60718293",
			private_key:
				"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAAAABBBBCCCC1234\n-----END PRIVATE KEY-----\n",
			auth_uri: "https://accounts.google.com/o/oauth2/auth",
			password: "hunter2",
		},
		undefined,
		2,
	);

	test.each([
		["the file itself", account],
		["one of its values", "id: 0a1b2c3d4e5f60718293"],
		["a key that was written out line by line", "AAAABBBBCCCC1234"],
		["a short value whose key says that it is secret", "logged in with hunter2"],
	])("are found in %s", (_, output) => {
		expect(holds("/app/service-account.json", account, output)).toBe(true);
	});

	test.each([
		["public addresses", "see https://accounts.google.com/o/oauth2/auth"],
		["the fences of another key", "-----BEGIN PRIVATE KEY-----"],
		["the names of its fields", "private_key, private_key_id, auth_uri"],
	])("are not found in %s", (_, output) => {
		expect(holds("/app/service-account.json", account, output)).toBe(false);
	});

	test("of a file of tokens, each is found", () => {
		const tokens = "ghp_16characters0\nglpat-AbCdEf123456\n";
		expect(holds("/app/token.txt", tokens, "remote: ghp_16characters0@github.com")).toBe(true);
		expect(holds("/app/token.txt", tokens, "remote: none")).toBe(false);
	});

	test("of Terraform's variables, a password is found", () => {
		const tfvars = 'region = "eu-1"\ndb_password = "sunshine"\n';
		expect(holds("/app/prod.tfvars", tfvars, "password is sunshine")).toBe(true);
		expect(holds("/app/prod.tfvars", tfvars, "eu-1")).toBe(false);
	});
});

test.each([
	["secrets.json", '{"user":"shop","password":"hunter2","host":"db"}'],
	["kubeconfig", "clusters: [{name: a, token: hunter2, port: 1}]"],
	[".netrc", "machine example.com login me password hunter2"],
	[".git-credentials", "https://me:hunter2@example.com"],
])("of %s, a short password among other things on its line is found", (path, text) => {
	expect(holds(path, text, "it is hunter2.")).toBe(true);
});

test("lines of settings in an excluded file are not found in other files", () => {
	const state =
		'{\n  "version": 4,\n  "type": "module",\n  "token_uri": "https://oauth2.example.com/token"\n}\n';
	const other = '{\n  "version": 4,\n  "type": "module"\n}\nhttps://oauth2.example.com/token';
	expect(holds("prod.tfstate", state, other)).toBe(false);
	expect(holds("vault.yml", "kind: Secret\nmode: managed\n", "kind: Secret\nmode: managed")).toBe(
		false,
	);
});

test("lines that are made to cost much are read in one pass", { tags: "slow" }, () => {
	const size = 128 * 1024;
	const hostile = [
		"a",
		" ",
		"://a:",
		"key",
		"key:",
		",",
		'"',
		"'a",
		"=",
		"\\n",
		"a ",
		"password ",
		"://",
	];
	for (const part of hostile) {
		const long = part.repeat(size / part.length);
		for (const path of [".env", "a.pem"])
			for (const text of [long, `A=b${long}c`, `key: "${long}x`]) secretValuesOf(path, text);
	}
	const alike = Array.from({ length: 20_000 }, (_, at) => `AAAAAA${at.toString(36)}B`);
	expect(createValueFinder(alike)("A".repeat(size))).toBe(false);
	expect(createValueFinder(["A".repeat(size - 1)])(`${"A".repeat(50)}B`.repeat(9_999))).toBe(false);
});

test("of the environment, only variables that are called secret count", () => {
	const values = secretVariables({ API_TOKEN: "abcdefg", HOME: "/home/someone", MY_KEY: "abc" });
	expect([...values]).toEqual(["abcdefg"]);
});

test("the finder says what looking for each value says", () => {
	const text = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 40 });
	fc.assert(
		fc.property(fc.array(text, { maxLength: 8 }), text, (values, output) => {
			const expected = values.some((value) => value.length >= 6 && output.includes(value));
			expect(createValueFinder(values)(output)).toBe(expected);
		}),
	);
});
