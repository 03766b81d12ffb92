export { rules } from "../c/rules.ts";
