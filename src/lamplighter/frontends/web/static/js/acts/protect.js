import { openDialog } from "../parts/dialog.js";
import { Help } from "../parts/help.js";

export const protectSession = (row) => openDialog(Help, { row });
