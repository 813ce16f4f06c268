# The network that all hosts share.
resource "aws_vpc" "main" {
  cidr_block = var.cidr

  tags = {
    name = "main"
  }
}

variable "cidr" {
  type    = string
  default = "10.0.0.0/16"
}

locals {
  zones  = 3
  prefix = "net"
}

module "peering" {
  source = "./peering"
}
